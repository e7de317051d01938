"""Where memdeck's own things lie, how private they are, and which filesystems are the network's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from core.errors import UsageError
from core.store import fsinfo
from core.store.fsinfo import filesystem_kind
from core.store.paths import (
    cache_dir,
    config_dir,
    config_file,
    make_private_dir,
    root_key,
    root_state_dir,
    state_dir,
    write_private,
)


def test_variables_decide_where_things_lie() -> None:
    environ = {"MEMDECK_STATE": "/s", "MEMDECK_CONFIG": "/c/my.toml"}
    assert state_dir(environ) == Path("/s")
    assert cache_dir(environ) == Path("/s/cache")
    assert (config_file(environ), config_dir(environ)) == (Path("/c/my.toml"), Path("/c"))


def test_without_variables_the_users_own_folders_are_used() -> None:
    places = {state_dir({}), cache_dir({}), config_dir({})}
    assert all(place.is_absolute() and "memdeck" in str(place) for place in places)
    assert config_file({}).name == "config.toml"


def test_a_root_has_one_place_whatever_its_spelling(tmp_path: Path) -> None:
    place = root_state_dir(tmp_path / "state", Path("/home/dev/.grok/memory"))
    assert place == tmp_path / "state" / "roots" / root_key(Path("/home/dev/.grok/memory"))
    assert len(place.name) == 8
    root_key(Path("/odd\udcff"))


def test_state_inside_the_memory_is_refused_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "memory")
    for state in (tmp_path / "memory", tmp_path / "memory/state", tmp_path / "link/state"):
        with pytest.raises(UsageError, match="inside the memory"):
            root_state_dir(state, (tmp_path / "memory").resolve())


def test_folders_are_private_whatever_the_umask_and_old_ones_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir(mode=0o755)
    before = (tmp_path / "old").stat().st_mode
    mask = os.umask(0o777)
    try:
        make_private_dir(tmp_path / "old" / "a" / "b")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "old/a").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "old/a/b").stat().st_mode) == 0o700
    assert (tmp_path / "old").stat().st_mode == before


def test_private_files_replace_whole_and_leave_no_temporaries(tmp_path: Path) -> None:
    target = tmp_path / "made" / "file"
    write_private(target, b"one")
    write_private(target, b"two")
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "made") == ["file"]


def test_a_failed_write_leaves_the_old_file_and_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_private(target, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.store.paths.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/share rw - nfs4 server:/export rw
31 30 0:41 / /mnt/share/local rw - xfs /dev/sdb1 rw
32 22 0:42 / /mnt/with\\040space\\134x rw shared:7 master:1 - cifs //server/x rw
33 22 0:43 / /mnt/sshfs rw - fuse.sshfs dev@host:/ rw
34 22 0:44 / /mnt/over rw - ext4 /dev/sdc1 rw
35 34 0:45 / /mnt/over rw - 9p host rw
36 22 0:46 / /mnt/box rw - overlay overlay rw
37 22 0:47 / /mnt/ntfs rw - fuseblk /dev/sdd1 rw
a damaged line
38 22 0:48 / /mnt/cut rw -
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/nowhere/memory", "local"),
        ("/mnt/share/memory", "network"),
        ("/mnt/share", "network"),
        ("/mnt/shared-not/memory", "local"),
        ("/mnt/share/local/memory", "local"),
        ("/mnt/with space\\x/memory", "network"),
        ("/mnt/sshfs/a", "network"),
        ("/mnt/over/a", "network"),
        ("/mnt/box/a", "local"),
        ("/mnt/ntfs/a", "network"),
    ],
)
def test_the_longest_mount_point_decides(path: str, kind: str) -> None:
    assert filesystem_kind(path, mounts=MOUNTS, platform="linux") == kind


def test_links_are_resolved_before_looking(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mounts = f"1 1 0:1 / / rw - ext4 x rw\n2 1 0:2 / {tmp_path.resolve()}/real rw - nfs x rw\n"
    assert filesystem_kind(str(tmp_path / "link"), mounts=mounts, platform="linux") == "network"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/Users/dev/memory", "local"), ("/Volumes/My Disk/m", "network"), ("/Volumes/f", "network")],
)
def test_macos_mounts(path: str, kind: str) -> None:
    mounts = (
        "/dev/disk1s1 on / (apfs, local, journaled)\n"
        "//dev@server/x on /Volumes/My Disk (smbfs, nodev, nosuid)\n"
        "mount on /Volumes/f (macfuse, nodev)\n"
        "garbage\n"
    )
    assert filesystem_kind(path, mounts=mounts, platform="darwin") == kind


def test_what_cannot_be_known_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert filesystem_kind(str(tmp_path), mounts="", platform="linux") == "local"
    monkeypatch.setattr(fsinfo, "Path", lambda _path: tmp_path / "missing")
    assert filesystem_kind(str(tmp_path), platform="linux") == "local"
