"""Pseudonyms: the same one for the same name, none where nothing is named, and nothing left."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tpustarter.report.cleaning import Cleaner, Unclean
from tpustarter.report.pseudonyms import Pseudonyms


def cleaner(**known: str) -> Cleaner:
    """Return a cleaner that knows a name of each kind."""
    names = Pseudonyms()
    for kind, name in known.items():
        names.know(kind, [name])
    return Cleaner({"HF_TOKEN": "abc-secret-def", "HOME": "/home/ada"}, names)


REPLACED = {
    "/home/ada/run/train.py:3": "path-1.py:3",
    'File "train.py", line 3': 'File "path-1.py", line 3',
    "I1122 12:00:00.0 7 train.py:45] x": "I1122 12:00:00.0 7 path-1.py:45] x",
    "LD_LIBRARY_PATH=/opt/mine:/opt/mine": "LD_LIBRARY_PATH=path-1:path-1",
    "gs://my-bucket/run/1.npz and gs://my-bucket": "gs://bucket-1/path-1 and gs://bucket-1",
    "addr=10.0.0.3:8471 and 10.0.0.3": "addr=address-1:8471 and address-1",
    "[fe80::1%eth0]:80": "[address-1]:80",
    "ada@example.com wrote": "email-1 wrote",
    "projects/my-lab/locations/us-east1-d": "projects/project-1/locations/us-east1-d",
    "gcloud --project=my-lab compute": "gcloud --project=project-1 compute",
    "https://ada:pw@git.corp.example/x/y": "https://[login]@host-1/path-1",
    "on t1v-n-0a1b2c3d-w-0:": "on host-1:",
    "https://github.com/ada/private": "https://github.com/path-1",
    "--config=mine.yaml": "path-1.yaml",
    "<mine.py> (mine.ipynb) //mine/x.bin": "<path-2.py> (path-3.ipynb) path-1",
    "token abc-secret-def here": "token [secret] here",
    "/x/lib/python3.12/site-packages/jax/_src/api.py":
        "path-1/lib/python3.12/site-packages/jax/_src/api.py",
    "/x/lib/python3.12/site-packages/mine/api.py": "path-1.py",
}  # fmt: skip
KEPT = (
    "jax 0.12.0.1, libtpu 0.0.50.1, numpy 2.5.5",
    "/usr/lib/python3.12/threading.py and /dev/vfio/0 and /tmp/libtpu_lockfile",
    "https://github.com/jax-ml/jax/issues/22070",
    "From /job:tpu_worker/replica:0/task:0: in /usr/local/lib/python3.8/dist-packages (2.1.0)",
    "Looking in links: https://storage.googleapis.com/libtpu-releases/index.html",
    '  File "/usr/local/lib/python3.10/dist-packages/torch_xla/core/xla_model.py", line 18, in f',
    "xla_bridge.py:54] tpu_initialize_util.cc:123 at 12:34:56",
    "_init_backend (jax/_src/xla_bridge.py:935), f (libtpu/libtpu.so)",
    "std::vector<ad::b>, 0000:00:04.0, 3.5 bytes/s and/or TPU/CPU",
    "torch.utils.collect_env, math.log(x), threading.local",
    "127.0.0.1:8431 and 169.254.169.254 and ::1",
)


@pytest.mark.parametrize("text", REPLACED)
def test_what_has_the_shape_of_a_name_is_replaced(text: str) -> None:
    """Where nobody said the name before."""
    assert REPLACED[text] == cleaner().text(text)


@pytest.mark.parametrize("text", KEPT)
def test_what_names_nobody_stays(text: str) -> None:
    """A maintainer must be able to read versions, frames of frameworks, and public links."""
    assert text == cleaner().text(text)


def test_a_known_name_is_replaced_wherever_it_stands_and_in_any_case() -> None:
    """A short one only as a whole word."""
    one = cleaner(user="ada", host="my-tpu-host", project="my-lab-314")

    assert "user-1 and user-1_x, not adam" == one.text("ada and Ada_x, not adam")
    assert "xhost-1x" == one.text("xMY-TPU-HOSTx")
    assert "gs://bucket-1 of project-1" == one.text("gs://my-lab-314-data of my-lab-314")


def test_names_that_many_machines_share_stay() -> None:
    """A user called `root` or a host called `localhost` tells nothing."""
    one = cleaner(user="root", host="localhost")

    assert "root at localhost" == one.text("root at localhost")


def test_pseudonyms_go_on_in_the_next_report() -> None:
    """So two reports of one machine can be laid beside each other."""
    first = Pseudonyms()
    first.of("host", "a-host")
    second = Pseudonyms(first.saved())

    assert "host-2" == second.of("host", "b-host")
    assert "host-1" == second.of("host", "A-Host")
    assert {"host": {"a-host": 1, "b-host": 2}} == second.saved()


@pytest.mark.parametrize("saved", [{"host": 3}, {"who": {"x": 1}}, {"host": {"x": "1"}}])
def test_a_spoilt_memory_is_none(saved: dict[str, object]) -> None:
    """What is no number is not used."""
    assert "host-1" == Pseudonyms(saved).of("host", "x")


def test_a_text_in_which_a_name_is_left_is_refused() -> None:
    """The last look is apart from the replacing, and says no word of the text."""
    one = cleaner(user="zq7ada")
    with pytest.raises(Unclean) as refused:
        one.proved("who: zq7ada")

    assert "zq7" not in str(refused.value)
    with pytest.raises(Unclean):
        one.proved("abc-secret-def")


@example(before="\x1b", after="", name="hf_zq7abcdefghijklmnop")
@given(
    before=st.text(max_size=30), after=st.text(max_size=30), name=st.sampled_from(
        ["zq7ada", "zq7-lab-314", "hf_zq7abcdefghijklmnop", "zq7ada@example.com", "gs://zq7-b/zq7"]
    )
)  # fmt: skip
def test_no_name_is_left_whatever_stands_beside_it(before: str, after: str, name: str) -> None:
    """Or the text is refused."""
    one = cleaner(user="zq7ada", project="zq7-lab-314", bucket="zq7-b")
    try:
        clean = one.text(f"{before} {name} {after}")
    except Unclean:
        return

    assert not re.search("zq7(ada|-lab|-b|abcdef)", clean)


LONG = (
    "=-",
    "a.",
    "/a",
    "a/",
    "-",
    "x@",
    "1.",
    "ab:",
    "{'",
    "~/",
    "\\",
    "projects/",
    "gs://a/",
    "",
)


def test_a_long_line_is_cut_before_it_takes_for_ever() -> None:
    """What costs is the part that is searched, whatever the length; the rest is not shown."""
    one = cleaner(user="zq7ada")
    for piece in LONG:
        clean = one.text(f"{piece * 40_000} zq7ada")

        assert len(clean) <= 2 * 300
        assert "zq7" not in clean


def test_a_row_with_one_strange_field_is_told_without_it() -> None:
    """A driver that nobody foresaw must not hide all chips."""
    from tpustarter.report.shapes import figure, one_of, rows

    shape = rows({"chip": figure, "driver": one_of("vfio-pci")})
    told = shape([{"chip": 1, "driver": "zq7"}, {"chip": 2, "driver": "vfio-pci"}], cleaner())

    assert [{"chip": 1, "driver": "(not told)"}, {"chip": 2, "driver": "vfio-pci"}] == told
