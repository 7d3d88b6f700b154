//! What a command has in its memory is in no core dump: Linux gives the files in `/proc` of such a process to root (proc(5)).

use crate::place::{Place, haproxy};
use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt},
        process::CommandExt,
    },
    process::{Child, Command, Stdio},
};

/// A user's group that is nobody's: root's own processes are seen to be given away, too.
const NOBODY: u32 = 65_534;

/// A process that is ended with its test.
struct Running(Child);

impl Running {
    fn start(place: &Place, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(place.path()).env("HAPTIC_HAPROXY_3_4", haproxy());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.gid(NOBODY);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn is_given_to_root(&self) -> bool {
        let owner = fs::metadata(format!("/proc/{}/stat", self.0.id())).unwrap();
        (owner.uid(), owner.gid()) == (0, 0)
    }

    /// Waits until it reads `file`, a named pipe.
    fn reads(&mut self, place: &Place, file: &str) {
        let path = place.path().join(file);
        let open = || {
            let flags = rustix::fs::OFlags::NONBLOCK.bits().try_into().unwrap();
            fs::OpenOptions::new().write(true).custom_flags(flags).open(&path)
        };
        while open().is_err() {
            assert_eq!(self.0.try_wait().unwrap(), None, "it ended before it read {file}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn every_command_that_reads_secrets_keeps_its_memory_to_itself() {
    let place = Place::new();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        place.path().join("pipe"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    fs::create_dir(place.path().join("objects")).unwrap();
    assert!(
        !Running::start(&place, "cat", &[]).is_given_to_root(),
        "this machine gives all processes to root"
    );
    for arguments in [
        &["render", "-f", "pipe", "--resources", "objects", "--out", "out"][..],
        &["plan", "objects", "-f", "pipe", "--resources", "objects"],
        &["explain", "-f", "pipe", "--resources", "objects", "http://a.example/"],
        &["validate", "-f", "pipe"],
    ] {
        let mut running = Running::start(&place, env!("CARGO_BIN_EXE_haptic"), arguments);
        running.reads(&place, "pipe");
        assert!(running.is_given_to_root(), "{arguments:?}");
    }
}
