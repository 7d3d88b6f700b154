//! Nothing that a check executes becomes more than the controller is.

pub(super) fn put_on() -> Result<(), String> {
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs cannot be set: {error}"))
}
