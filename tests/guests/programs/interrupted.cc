// paravane-interrupted: makes objects of one kind, one after another, while a timer's
// signal comes again and again, and says how many could not be made. The guest's driver
// waits for a command's answer interruptibly and takes a signal for a time-out: where the
// answer and its interrupt are not there when it begins to wait, a signal costs the object.
//
//   paravane-interrupted KIND COUNT INTERVAL
//
// KIND is "qp" (queue pairs, all kept), "cq" (likewise) or "mr=MIB" (regions of so many
// MiB, given back one by one). INTERVAL is in microseconds; 0: no timer. Prints
// "made M failed F signals S", then the reason of the last failure if there was one, and
// ends with 0 whatever M and F are.

#include <infiniband/verbs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

namespace {

volatile sig_atomic_t signals = 0;

void on_alarm(int) {
  signals = signals + 1;
}

bool start_timer(long microseconds) {
  struct sigaction action{};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  itimerval timer{};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = microseconds;
  return sigaction(SIGALRM, &action, nullptr) == 0 && setitimer(ITIMER_REAL, &timer, nullptr) == 0;
}

std::function<bool()> maker_of(const std::string& kind, ibv_context* context, ibv_pd* pd,
                               ibv_cq* cq) {
  if (kind == "cq") {
    return [context] { return ibv_create_cq(context, 16, nullptr, nullptr, 0) != nullptr; };
  }
  if (kind == "qp") {
    return [pd, cq] {
      ibv_qp_init_attr init{};
      init.qp_type = IBV_QPT_RC;
      init.send_cq = init.recv_cq = cq;
      init.cap = {.max_send_wr = 1,
                  .max_recv_wr = 1,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
      return ibv_create_qp(pd, &init) != nullptr;
    };
  }
  if (kind.starts_with("mr=")) {
    const std::size_t length = std::stoul(kind.substr(3)) << 20;
    void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return {};
    return [pd, memory, length] {
      ibv_mr* mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
      if (mr != nullptr) ibv_dereg_mr(mr);
      return mr != nullptr;
    };
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::printf("usage: paravane-interrupted qp|cq|mr=MIB COUNT INTERVAL\n");
    return 1;
  }
  ibv_device** devices = ibv_get_device_list(nullptr);
  ibv_context* context =
      devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
  ibv_pd* pd = context != nullptr ? ibv_alloc_pd(context) : nullptr;
  ibv_cq* cq = pd != nullptr ? ibv_create_cq(context, 16, nullptr, nullptr, 0) : nullptr;
  const std::function<bool()> make =
      cq != nullptr ? maker_of(argv[1], context, pd, cq) : std::function<bool()>();
  if (!make || !start_timer(std::atol(argv[3]))) {
    std::printf("no device, no such kind, or no timer: %s\n", std::strerror(errno));
    return 1;
  }
  const int count = std::atoi(argv[2]);
  int made = 0;
  int reason = 0;
  for (int i = 0; i < count; ++i) {
    if (make()) {
      ++made;
    } else {
      reason = errno;
    }
  }
  start_timer(0);
  std::printf("made %d failed %d signals %d\n", made, count - made, static_cast<int>(signals));
  if (reason != 0) std::printf("%s\n", std::strerror(reason));
  return 0;
}
