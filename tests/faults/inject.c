// Runs a program and lets one of its system calls fail, or kills it there.
//
//   inject RESULT CALL N WHAT PROGRAM ARGUMENT...
//
// Of all calls of the family CALL (open, write, rename, spawn, wait, all) that the program and its threads make, the
// N-th is not made: it gives the error WHAT (a number), or the program is killed there (WHAT is `kill`). The processes
// that the program starts are left alone. With N = 0 nothing fails. RESULT gets the number of calls seen.
//
// A library before libc would miss most: Rust's crates make system calls themselves. So the calls are caught by a
// seccomp filter that stops them for this tracer.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the registers of other processors are not known here"
#endif

// 75 is EX_TEMPFAIL of sysexits.h: this machine does not let us trace.
enum { CANNOT_TRACE = 75, WRONG_USAGE = 64, MOST_TASKS = 4096 };

static const int opens[] = {SYS_open, SYS_openat, SYS_creat, -1};
static const int writes[] = {SYS_write, SYS_pwrite64, SYS_writev, SYS_ftruncate, SYS_fsync, SYS_fchmod, -1};
static const int renames[] = {SYS_rename, SYS_renameat, SYS_renameat2, SYS_link,   SYS_linkat,
                              SYS_unlink, SYS_unlinkat, SYS_mkdir,     SYS_mkdirat, SYS_rmdir, -1};
static const int spawns[] = {SYS_fork, SYS_vfork, SYS_clone, SYS_clone3, SYS_execve, SYS_pipe2, -1};
static const int waits[] = {SYS_wait4, SYS_waitid, -1};
static const int reads[] = {SYS_read, SYS_pread64, SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_statx, SYS_fstat, -1};

static const struct family {
    const char *name;
    const int *calls;
} families[] = {{"open", opens}, {"write", writes}, {"rename", renames},
                {"spawn", spawns}, {"wait", waits}, {"read", reads}};

// Has the kernel stop the calls of a family.
static int filter(const int *calls) {
    struct sock_filter code[64];
    unsigned short length = 0, count = 0;
    while (calls[count] >= 0) count++;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned short i = 0; i < count; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], count - i, 0);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = {length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// Makes the call that stands in a stopped task fail.
static void refuse(pid_t task, int error) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, task, 0, &registers) != 0) return;
    registers.orig_rax = (unsigned long long)-1;
    registers.rax = (unsigned long long)-(long long)error;
    ptrace(PTRACE_SETREGS, task, 0, &registers);
}

// The process that a task is a thread of.
static pid_t process_of(pid_t task) {
    char path[64], line[128];
    pid_t found = task;
    snprintf(path, sizeof path, "/proc/%d/status", task);
    FILE *file = fopen(path, "r");
    if (file == NULL) return task;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "Tgid: %d", &found) == 1) break;
    }
    fclose(file);
    return found;
}

int main(int count, char **words) {
    if (count < 6) return WRONG_USAGE;
    const int *calls = NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].name, words[2]) == 0) calls = families[i].calls;
    }
    if (calls == NULL) return WRONG_USAGE;
    long chosen = atol(words[3]), seen = 0;
    int kills = strcmp(words[4], "kill") == 0, error = atoi(words[4]), ended = -1;
    pid_t program = fork();
    if (program < 0) return CANNOT_TRACE;
    if (program == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(CANNOT_TRACE);
        raise(SIGSTOP);
        if (filter(calls) != 0) _exit(CANNOT_TRACE);
        execv(words[5], words + 5);
        _exit(127);
    }
    int status;
    if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status)) return CANNOT_TRACE;
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, program, 0, options) != 0) return CANNOT_TRACE;
    int has_started = 0;
    ptrace(PTRACE_CONT, program, 0, 0);
    for (;;) {
        pid_t task = waitpid(-1, &status, __WALL);
        if (task < 0) break;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (task == program) ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) {
            // The program's own calls only, and not those with which it was started.
            if (has_started && process_of(task) == program && ++seen == chosen) {
                if (kills) {
                    kill(program, SIGKILL);
                } else {
                    refuse(task, error);
                }
            }
            signal = 0;
        } else if (event == PTRACE_EVENT_EXEC && task == program) {
            has_started = 1;
            signal = 0;
        } else if (event != 0 || signal == SIGSTOP) {
            // Also the stop with which a new task begins.
            signal = 0;
        } else if (signal == SIGTRAP) {
            signal = 0;
        }
        ptrace(PTRACE_CONT, task, 0, (void *)(long)signal);
    }
    FILE *file = fopen(words[1], "w");
    if (file != NULL) {
        fprintf(file, "%ld\n", seen);
        fclose(file);
    }
    return ended;
}
