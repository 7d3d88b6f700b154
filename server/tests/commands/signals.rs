//! What a command leaves behind that a signal ends: nothing.

use crate::place::Place;
use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const CONFIG: &str = include_str!("../../../fixtures/hello/config.yaml");

/// As HAProxy, but its check does not end.
const SLOW: &str = "#!/bin/sh\n[ \"$1\" = -v ] && echo 'HAProxy version 3.4.0' && exit\nexec sleep 60\n";

fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn the_folder_of_a_check_is_gone_after_a_signal() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        place.write("config.yaml", CONFIG);
        place.write("manifests/none.yaml", "");
        place.write("haproxy", SLOW);
        place.write("tmp/none", "");
        let (slow, temporary) = (place.path().join("haproxy"), place.path().join("tmp"));
        fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
        let mut haptic = Command::new(env!("CARGO_BIN_EXE_haptic"))
            .args(["validate", "-f", "config.yaml", "--resources", "manifests", "--haproxy"])
            .arg(&slow)
            .args(["--unprotected", "limits,privileges,files,calls"])
            .current_dir(place.path())
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while names_in(&temporary).len() < 2 && Instant::now() < patience {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        assert!(names_in(&temporary).iter().any(|name| name.starts_with("haptic-check-")), "{signal}");
        Command::new("kill").args(["-s", signal, &haptic.id().to_string()]).status().unwrap();
        let ended = haptic.wait().unwrap();
        assert_eq!((ended.code(), ended.signal()), (Some(code), None), "{signal}");
        assert_eq!(names_in(&temporary), ["none"], "{signal}");
    }
}
