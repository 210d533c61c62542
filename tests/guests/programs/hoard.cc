// paravane-hoard: makes objects of every kind until each is refused, says how many
// it got and why no more, and ends without giving them back.
//
//   paravane-hoard
//
// Ends with 0 when each end was that of a quota, 1 otherwise. The guest's driver says
// ENOMEM when it counts itself, and EFAULT when the device refuses.

#include <infiniband/verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr int kEnough = 100'000;

// False: the end was not that of a quota.
bool hoard(const char* what, const std::function<void*()>& make) {
  int count = 0;
  errno = 0;
  while (count < kEnough && make() != nullptr) ++count;
  std::printf("%s: %d, then %s\n", what, count, std::strerror(errno));
  return count > 0 && count < kEnough && (errno == ENOMEM || errno == EFAULT);
}

}  // namespace

int main() {
  ibv_device** devices = ibv_get_device_list(nullptr);
  ibv_context* context =
      devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
  ibv_pd* pd = context != nullptr ? ibv_alloc_pd(context) : nullptr;
  ibv_cq* cq = pd != nullptr ? ibv_create_cq(context, 16, nullptr, nullptr, 0) : nullptr;
  if (cq == nullptr) {
    std::printf("no device, or no room for the first objects: %s\n", std::strerror(errno));
    return 1;
  }
  static std::vector<std::uint8_t> memory(4096);
  bool good = hoard("queue pairs", [&]() -> void* {
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = cq;
    init.cap = {.max_send_wr = 1,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    return ibv_create_qp(pd, &init);
  });
  good &=
      hoard("completion queues", [&] { return ibv_create_cq(context, 1, nullptr, nullptr, 0); });
  good &= hoard("memory regions", [&] {
    return ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  });
  good &= hoard("protection domains", [&] { return ibv_alloc_pd(context); });
  std::fflush(stdout);
  _exit(good ? 0 : 1);
}
