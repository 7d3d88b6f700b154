//! A HAProxy whose checks end only when a journey lets them, and refuse what it says.

use integration_tests::{
    Outcome, Scene, ensure, eventually,
    program::{self, HaproxySeries},
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

/// HAProxy 3.4 as a controller is given it.
pub struct SlowChecks {
    haproxy: PathBuf,
    /// No check ends as long as it is there.
    late: PathBuf,
    /// Made by each check that begins.
    begun: PathBuf,
    /// Words of which none may be in any file.
    refused: PathBuf,
}

impl SlowChecks {
    /// One whose checks are quick until they are held.
    pub fn new(scene: &Scene) -> Outcome<Self> {
        let file = |name: &str| scene.dir.join(name);
        let checks = Self {
            haproxy: file("haproxy"),
            late: file("checks-are-late"),
            begun: file("check-begun"),
            refused: file("refused-words"),
        };
        fs::write(&checks.refused, "")?;
        let [late, begun, refused] =
            [&checks.late, &checks.begun, &checks.refused].map(|path| path.display());
        let real = program::haproxy(HaproxySeries::V3_4)?;
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *\" -c \"*) : > '{begun}'; while [ -e '{late}' ]; do /bin/sleep 0.1; done\n\
             if /bin/grep -rqFf '{refused}' .; then echo '[ALERT]    (1) : config : a refused word' >&2; exit 1; fi;; esac\n\
             exec '{}' \"$@\"\n",
            real.display()
        );
        fs::write(&checks.haproxy, script)?;
        fs::set_permissions(&checks.haproxy, Permissions::from_mode(0o755))?;
        Ok(checks)
    }

    /// What the controller is started with.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let all = "limits,privileges,files,calls";
        [("HAPTIC_HAPROXY_3_4", self.haproxy.display().to_string()), ("HAPTIC_UNPROTECTED", all.to_owned())]
    }

    /// From now on no check passes that finds `word` in a file.
    pub fn refuse(&self, word: &str) -> Outcome {
        Ok(fs::write(&self.refused, format!("{word}\n"))?)
    }

    /// From now on no check ends.
    pub fn hold(&self) -> Outcome {
        fs::write(&self.late, "")?;
        if self.begun.exists() {
            fs::remove_file(&self.begun)?;
        }
        Ok(())
    }

    /// Waits until a check has begun since they are held.
    pub async fn is_held(&self) -> Outcome {
        eventually("a check begins", async || ensure(self.begun.exists(), "none has")).await
    }

    /// They end.
    pub fn let_go(&self) -> Outcome {
        Ok(fs::remove_file(&self.late)?)
    }
}
