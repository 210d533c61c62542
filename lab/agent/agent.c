/* The first process of a lab guest once its /init is done: runs the commands
 * that arrive on the virtio-serial ports named lab.N, and reaps every orphan.
 *
 * One thread, one epoll set, nothing blocks. See protocol.h for the words.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

struct agent {
  int epoll;
  int signals;
  int wanted_ports;
  int port_count;
  long long next_check_ms;
  struct session* sessions[kMaxPorts];
  char port_seen[kMaxPorts + 1];
};

/* Ports appear one by one while the driver talks to the device. */
static void open_new_ports(struct agent* agent) {
  for (int i = 1; i <= agent->wanted_ports; i++) {
    char path[64];
    snprintf(path, sizeof path, "/dev/vport0p%d", i);
    int fd = agent->port_seen[i] ? -1 : open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct session* session = malloc(sizeof *session);
    if (session == NULL) {
      close(fd);
      continue;
    }
    session_init(session, fd, agent->epoll);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = session};
    epoll_ctl(agent->epoll, EPOLL_CTL_ADD, fd, &event);
    agent->port_seen[i] = 1;
    agent->sessions[agent->port_count++] = session;
    session_pump(session);
  }
}

static void reap(struct agent* agent) {
  struct signalfd_siginfo ignored;
  int status;
  pid_t pid;

  while (read(agent->signals, &ignored, sizeof ignored) > 0) continue;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    for (int i = 0; i < agent->port_count; i++) {
      struct session* session = agent->sessions[i];
      if (session->command.pid == pid && !session->command.exited) {
        command_exited(&session->command, status);
        session_pump(session);
      }
    }
  }
}

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static int patience_ms(const struct agent* agent) {
  int patience = agent->port_count < agent->wanted_ports ? 50 : -1;

  for (int i = 0; i < agent->port_count; i++) {
    if (agent->sessions[i]->more) return 0;
    if (agent->sessions[i]->open && patience < 0) patience = kCheckEveryMs;
  }
  return patience;
}

static void check_hosts(struct agent* agent) {
  if (now_ms() < agent->next_check_ms) return;
  agent->next_check_ms = now_ms() + kCheckEveryMs;
  for (int i = 0; i < agent->port_count; i++) {
    if (!agent->sessions[i]->open) continue;
    session_check_host(agent->sessions[i]);
    session_pump(agent->sessions[i]);
  }
}

static void serve_once(struct agent* agent) {
  struct epoll_event events[32];
  int count = epoll_wait(agent->epoll, events, 32, patience_ms(agent));

  if (agent->port_count < agent->wanted_ports) open_new_ports(agent);
  for (int i = 0; i < count; i++)
    if (events[i].data.ptr != NULL) session_pump(events[i].data.ptr); /* else: reap() */
  reap(agent);
  check_hosts(agent);
  for (int i = 0; i < agent->port_count; i++)
    if (agent->sessions[i]->more) session_pump(agent->sessions[i]);
}

int main(int argc, char** argv) {
  static struct agent agent;
  sigset_t children;

  agent.wanted_ports = argc > 1 ? atoi(argv[1]) : 1;
  if (agent.wanted_ports < 1 || agent.wanted_ports > kMaxPorts) agent.wanted_ports = kMaxPorts;
  signal(SIGPIPE, SIG_IGN);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  setpriority(PRIO_PROCESS, 0, -15); /* a polling benchmark on one vCPU must not hold us up */
  agent.epoll = epoll_create1(EPOLL_CLOEXEC);
  agent.signals = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (agent.epoll < 0 || agent.signals < 0 ||
      epoll_ctl(agent.epoll, EPOLL_CTL_ADD, agent.signals, &event) != 0) {
    perror("lab agent");
    return 1;
  }
  for (;;) serve_once(&agent);
}
