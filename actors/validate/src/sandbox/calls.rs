//! What a check may ask of the kernel: to read files, to use memory and to say something. All else is answered as a kernel does
//! that has no such call, which C libraries and HAProxy can live with.
//!
//! HAProxy makes a UDP socket for each name server while it reads a configuration. It gets these; that they are connected it
//! is only told, so nothing can be sent. One that [answers](Order::answers) may listen at UNIX sockets, and
//! has no way to connect any socket: what it says to servers goes over the one that it was started with.
//!
//! The numbers are those of the `libc` crate; nothing of C is called.

use super::Order;
use libc::{c_int, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition, SeccompFilter, SeccompRule,
};
use std::{collections::BTreeMap, env::consts::ARCH};

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// To read files that are there, and to write to what is open.
const FILES: &[c_long] = &[
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fchdir,
    libc::SYS_chdir,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_umask,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Memory, threads of its own and time.
const ITSELF: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // The one that makes it HAProxy; Landlock says which programs.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_get_mempolicy,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munlock,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_pselect6,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_yield,
    // Another filter can only take away more.
    libc::SYS_seccomp,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_settime,
    libc::SYS_times,
    libc::SYS_uname,
];

/// Those that newer machines do not have any more.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// What may be done with a socket that leads nowhere.
const SOCKETS: &[c_long] =
    &[libc::SYS_getpeername, libc::SYS_getsockname, libc::SYS_getsockopt, libc::SYS_setsockopt];

/// What succeeds without being done.
const PRETENDED: &[c_long] = &[libc::SYS_bind, libc::SYS_connect];

/// To ask a name server.
const FOR_NAMES: &[c_long] = &[
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_socket,
];

/// To listen at sockets with names, to answer there, and to pass connections on: not to make one. No address of a network is
/// long enough to be bound, and no socket that could send to one is there.
const TO_ANSWER: &[c_long] = &[
    libc::SYS_accept4,
    libc::SYS_fchmodat,
    libc::SYS_linkat,
    libc::SYS_listen,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_unlinkat,
];

/// Those of them that newer machines do not have any more.
#[cfg(target_arch = "x86_64")]
const TO_ANSWER_OLDER: &[c_long] =
    &[libc::SYS_accept, libc::SYS_chmod, libc::SYS_link, libc::SYS_rename, libc::SYS_unlink];
#[cfg(not(target_arch = "x86_64"))]
const TO_ANSWER_OLDER: &[c_long] = &[];

/// The size of a UNIX socket's address.
const UNIX_ADDRESS: u64 = 110;

/// The bits of a socket's type that are no flags.
const SOCKET_TYPE: u64 = 0xf;

pub(super) fn put_on(order: &Order) -> Result<(), String> {
    let no_filter = |error: BackendError| format!("no filter for this machine: {error}");
    let apply = |filter: BpfProgram| {
        seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp refuses: {error}"))
    };
    apply(allowing(order).map_err(no_filter)?)?;
    // Of two filters that both answer in the kernel's place, the later one is heard.
    if order.names || order.answers { Ok(()) } else { apply(pretending().map_err(no_filter)?) }
}

fn allowing(order: &Order) -> Result<BpfProgram, BackendError> {
    let for_names = if order.names { FOR_NAMES } else { &[] };
    let (to_answer, older) = if order.answers { (TO_ANSWER, TO_ANSWER_OLDER) } else { (&[][..], &[][..]) };
    let freely = [FILES, ITSELF, OLDER, SOCKETS, for_names, to_answer, older].concat();
    let mut rules: Rules = freely.into_iter().map(|call| (call, Vec::new())).collect();
    if order.answers {
        let stream = SeccompRule::new(socket(libc::AF_UNIX, libc::SOCK_STREAM)?)?;
        rules.insert(libc::SYS_socket, vec![stream.clone(), tried_by_quic()?]);
        rules.insert(libc::SYS_socketpair, vec![stream]);
        rules.insert(libc::SYS_bind, argument(2, Length::Dword, Is::Eq, UNIX_ADDRESS)?);
        rules.insert(libc::SYS_sendto, argument(4, Length::Qword, Is::Eq, 0)?);
    } else if !order.names {
        let udp = |family| SeccompRule::new(socket(family, libc::SOCK_DGRAM)?);
        rules.insert(libc::SYS_socket, vec![udp(libc::AF_INET)?, udp(libc::AF_INET6)?]);
    }
    // Threads, no processes.
    let thread = flag(libc::CLONE_THREAD);
    rules.insert(libc::SYS_clone, argument(0, Length::Qword, Is::MaskedEq(thread), thread)?);
    // Its own limits, and a signal to itself, which `abort` sends. Executing a program keeps the id.
    rules.insert(libc::SYS_prlimit64, argument(0, Length::Dword, Is::Eq, 0)?);
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, argument(0, Length::Dword, Is::Eq, own)?);
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    SeccompFilter::new(rules, unknown, SeccompAction::Allow, ARCH.try_into()?)?.try_into()
}

fn pretending() -> Result<BpfProgram, BackendError> {
    let rules: Rules = PRETENDED.iter().map(|call| (*call, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(0), ARCH.try_into()?)?.try_into()
}

fn socket(family: c_int, kind: c_int) -> Result<Vec<SeccompCondition>, BackendError> {
    Ok(vec![
        SeccompCondition::new(0, Length::Dword, Is::Eq, flag(family))?,
        SeccompCondition::new(1, Length::Dword, Is::MaskedEq(SOCKET_TYPE), flag(kind))?,
    ])
}

/// Before it reads a configuration, HAProxy makes a UDP socket to see what the machine can do for QUIC, and ends if there is none.
/// It names no protocol for that; for all that it uses it does.
fn tried_by_quic() -> Result<SeccompRule, BackendError> {
    let mut conditions = socket(libc::AF_INET, libc::SOCK_DGRAM)?;
    conditions.push(SeccompCondition::new(2, Length::Dword, Is::Eq, 0)?);
    SeccompRule::new(conditions)
}

/// A call with this argument, counted from 0.
fn argument(at: u8, length: Length, is: Is, value: u64) -> Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![SeccompRule::new(vec![SeccompCondition::new(at, length, is, value)?])?])
}

fn flag(flag: c_int) -> u64 {
    u64::from(flag.unsigned_abs())
}
