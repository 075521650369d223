"""Pseudonyms: the same one for the same name, none where nothing is named, and nothing left."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tpustarter.report.clean.cleaner import Cleaner, UncleanText
from tpustarter.report.clean.pseudonyms import Pseudonyms


def cleaner(**known: str) -> Cleaner:
    """Return a cleaner that knows a name of each kind."""
    names = Pseudonyms()
    for kind, name in known.items():
        names.add_names(kind, [name])
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
    "project mylab failed, and Project my-lab": "project project-2 failed, and Project project-1",
    "project integral failed, project setup-7 was":
        "project project-2 failed, project project-1 was",
    "the project 'mylab' in it": "the project 'project-1' in it",
    "project number 123456789012, consumer 'project_number:123456789012'":
        "project number project-1, consumer 'project_number:project-1'",
    '{"projectNumber": "123456789012"}': '{"projectNumber": "project-1"}',
    "projects/123456789012/locations": "projects/project-1/locations",
    "bucket my-data1, bucket 'mydata', bucket mydata not found":
        "bucket bucket-1, bucket 'bucket-2', bucket bucket-2 not found",
    "gke_my-lab_us-central1-a_mine": "gke_project-1_us-central1-a_host-1",
    "file:///home/ada and file:///srv/x.py": "file://path-1 and file://path-2.py",
    "/Users/ada and /Users/ada/x": "path-1 and path-2",
    "uid=1000(ada) gid=1000(ada) groups=1000(ada),4(adm),1001(lab)":
        "uid=1000(user-1) gid=1000(user-1) groups=1000(user-1),4(adm),1001(user-2)",
    "-rw-r--r-- 1 ada lab 4096 Nov 22 10:00 train.log":
        "-rw-r--r-- 1 user-1 user-2 4096 Nov 22 10:00 path-1.log",
    "drwxr-xr-x 2 root ada 4.0K 2026-11-22 10:00 mine":
        "drwxr-xr-x 2 root user-1 4.0K 2026-11-22 10:00 path-1",
    "ada   4242  0.0  0.1 123456  7890 ?  Sl   10:00   0:01 python":
        "user-1   4242  0.0  0.1 123456  7890 ?  Sl   10:00   0:01 python",
    "ada 4242 1 0 10:00 pts/0 00:00:01 python": "user-1 4242 1 0 10:00 pts/0 00:00:01 python",
    "   4242 ada       20   0   12.3g   1.1g  10240 S":
        "   4242 user-1       20   0   12.3g   1.1g  10240 S",
    "ada@box:~$ ls": "user-1@host-1:~$ ls",
    "(venv) ada@box:~/run$ scp x bob@peer:/tmp":
        "(venv) user-1@host-1:path-1 scp x user-2@host-2:/tmp",
    "ada@box's password:": "user-1@host-1's password:",
    "failed to connect to box:8470 and worker-1.lab:8471":
        "failed to connect to host-1:8470 and host-2:8471",
    "git@github.com:ada/private.git": "email-1:path-1",
    "wandb: Currently logged in as: ada (lab). Use `wandb login --relogin`":
        "wandb: Currently logged in as: user-1 (user-2). Use `wandb login --relogin`",
    "wandb: Syncing run lab/mine": "wandb: Syncing run path-1",
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
    "127.0.0.1:8431 and 169.254.169.254 and ::1, localhost:8470 and port:8470",
    "the project is not found, a project of mine, project files, project failed",
    "the bucket is empty, bucket name, Bucket of 8",
    "project setup failed, project creation was refused, bucket listing failed, project files is",
    "root 1 0.0 0.1 1234 567 ? Ss 10:00 0:01 init, uid=0(root) gid=0(root) groups=0(root)",
    "step:1000, loss:1234 f32[8,1024](x), %a = f32[8,1000] add(b)",
    "dot_general.cc:1234] pjrt_client.h:8471",
    "wandb: Tracking run with wandb version 0.16.1",
    "call @Sharding, main@v4, numpy@1.26.4",
)


@pytest.mark.parametrize("text", REPLACED)
def test_text_shaped_like_name_is_replaced(text: str) -> None:
    """A text with the shape of a name is replaced even if the name isn't known."""
    assert REPLACED[text] == cleaner().clean_text(text)


@pytest.mark.parametrize("text", KEPT)
def test_text_without_names_is_kept(text: str) -> None:
    """A maintainer must be able to read versions, frames of frameworks, and public links."""
    assert text == cleaner().clean_text(text)


def test_known_name_is_replaced_everywhere_in_any_case() -> None:
    """A short one only as a whole word."""
    one = cleaner(user="ada", host="my-tpu-host", project="my-lab-314")

    assert "user-1 and user-1_x, not adam" == one.clean_text("ada and Ada_x, not adam")
    assert "xhost-1x" == one.clean_text("xMY-TPU-HOSTx")
    assert "user-1 wrote" == cleaner(user="bo").clean_text("bo wrote")
    assert "b wrote" == cleaner(user="b").clean_text("b wrote")
    assert "gs://bucket-1 of project-1" == one.clean_text("gs://my-lab-314-data of my-lab-314")


def test_common_names_are_kept() -> None:
    """Common names such as `root` and `localhost` are kept."""
    one = cleaner(user="root", host="localhost")

    assert "root at localhost" == one.clean_text("root at localhost")


def test_next_report_reuses_pseudonyms() -> None:
    """The next report of a machine reuses its pseudonyms."""
    first = Pseudonyms()
    first.make_pseudonym("host", "a-host")
    second = Pseudonyms(first.list_pseudonyms())

    assert "host-2" == second.make_pseudonym("host", "b-host")
    assert "host-1" == second.make_pseudonym("host", "A-Host")
    assert {"host": {"a-host": 1, "b-host": 2}} == second.list_pseudonyms()


@pytest.mark.parametrize("saved", [{"host": 3}, {"who": {"x": 1}}, {"host": {"x": "1"}}])
def test_damaged_pseudonym_file_is_ignored(saved: dict[str, object]) -> None:
    """A damaged file of pseudonyms is ignored, and numbers start at 1 again."""
    assert "host-1" == Pseudonyms(saved).make_pseudonym("host", "x")


def test_text_with_name_left_is_refused() -> None:
    """A text that still has a name is refused, without quoting it."""
    one = cleaner(user="zq7ada")
    with pytest.raises(UncleanText) as refused:
        one.require_clean("who: zq7ada")

    assert "zq7" not in str(refused.value)
    with pytest.raises(UncleanText):
        one.require_clean("abc-secret-def")


@example(before="\x1b", after="", name="hf_zq7abcdefghijklmnop")
@given(
    before=st.text(max_size=30), after=st.text(max_size=30), name=st.sampled_from(
        ["zq7ada", "zq7-lab-314", "hf_zq7abcdefghijklmnop", "zq7ada@example.com", "gs://zq7-b/zq7"]
    )
)  # fmt: skip
def test_name_beside_any_character_is_not_left(before: str, after: str, name: str) -> None:
    """A name next to any character is replaced, or the whole text is refused."""
    one = cleaner(user="zq7ada", project="zq7-lab-314", bucket="zq7-b")
    try:
        clean = one.clean_text(f"{before} {name} {after}")
    except UncleanText:
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


def test_long_line_is_cut_before_search() -> None:
    """A long line is cut before the search, so its cost is bounded; the rest isn't shown."""
    one = cleaner(user="zq7ada")
    for piece in LONG:
        clean = one.clean_text(f"{piece * 8_000} zq7ada")

        assert len(clean) <= 2 * 300
        assert "zq7" not in clean


def test_unknown_field_value_leaves_rest_of_row() -> None:
    """A driver that nobody foresaw must not hide all chips."""
    from tpustarter.report.clean.allowed_fields import choice_rule, clean_number, rows_rule

    shape = rows_rule({"chip": clean_number, "driver": choice_rule("vfio-pci")})
    told = shape([{"chip": 1, "driver": "zq7"}, {"chip": 2, "driver": "vfio-pci"}], cleaner())

    assert [{"chip": 1, "driver": "(not told)"}, {"chip": 2, "driver": "vfio-pci"}] == told
