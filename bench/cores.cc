#include "bench/cores.h"

#include <thread>
#include <vector>

#include "bench/shared_line.h"
#include "bench/stopwatch.h"

namespace paravane::bench {

std::optional<Cores> choose_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  std::vector<unsigned> usable;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) usable.push_back(core);
  }
  if (usable.size() < 2) return std::nullopt;
  return Cores{.guest = usable.front(), .worker = usable.back()};
}

Distance measure_distance(const Cores& cores) {
  constexpr std::uint64_t kRounds = 5'000;
  constexpr double kDistantHop = 0.12;  // us
  SharedLine there;
  SharedLine back;
  std::thread other([&] {
    const OnCore core(cores.worker);
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      there.await(i);
      back.say(i);
    }
  });
  const OnCore core(cores.guest);
  there.say(1);  // both run then
  back.await(1);
  const Stopwatch watch;
  for (std::uint64_t i = 2; i <= kRounds; ++i) {
    there.say(i);
    back.await(i);
  }
  const double hop = watch.microseconds() / (2 * (kRounds - 1));
  other.join();
  return hop < kDistantHop ? Distance::kNear : Distance::kDistant;
}

OnCore::OnCore(unsigned core) {
  CPU_ZERO(&before_);
  ::sched_getaffinity(0, sizeof before_, &before_);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  ::sched_setaffinity(0, sizeof only, &only);
}

OnCore::~OnCore() {
  ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace paravane::bench
