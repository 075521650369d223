"""Operating system errors in languages other than English.

Python and the frameworks always write English, but a shell and its tools use the user's language.
The texts are from glibc and bash in German, French, Spanish and Chinese.
"""

from __future__ import annotations

import re

ERRORS = {
    "No space left on device": (
        "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
        "Aucun espace disponible sur le périphérique",
        "No queda espacio en el dispositivo",
        "设备上没有空间",
    ),
    "Permission denied": (
        "Keine Berechtigung",
        "Permission non accordée",
        "Permiso denegado",
        "权限不够",
    ),
    "Address already in use": (
        "Die Adresse wird bereits verwendet",
        "Adresse déjà utilisée",
        "La dirección ya se está usando",
        "地址已在使用",
    ),
    "Cannot allocate memory": (
        "Nicht genügend Hauptspeicher verfügbar",
        "Ne peut allouer de la mémoire",
        "No se pudo asignar memoria",
        "无法分配内存",
    ),
    "No such file or directory": (
        "Datei oder Verzeichnis nicht gefunden",
        "Aucun fichier ou dossier de ce nom",
        "No existe el (?:fichero|archivo) o el directorio",
        "没有那个文件或目录",
    ),
    "Too many open files": (
        "Zu viele offene Dateien",
        "Trop de fichiers ouverts",
        "Demasiados (?:ficheros|archivos) abiertos",
        "打开的文件过多",
    ),
    "Device or resource busy": (
        "Das Gerät oder die Ressource ist belegt",
        "Périphérique ou ressource occupé",
        "Dispositivo o recurso ocupado",
        "设备或资源忙",
    ),
    "Operation not permitted": (
        "Die Operation ist nicht erlaubt",
        "Opération non permise",
        "Operación no permitida",
        "不允许的操作",
    ),
    "Connection refused": (
        "Verbindungsaufbau abgelehnt",
        "Connexion refusée",
        "Conexión rehusada",
        "拒绝连接",
    ),
    "Segmentation fault": (
        "Speicherzugriffsfehler",
        "Erreur de segmentation",
        "Violación de segmento",
        "段错误",
    ),
}
"""Patterns by English text."""

_ENGLISH = re.compile("|".join(ERRORS))


def translate_pattern(pattern: str) -> str:
    """Return a pattern that also matches an operating system error in other languages."""
    return _ENGLISH.sub(lambda found: f"(?:{'|'.join((found[0], *ERRORS[found[0]]))})", pattern)
