// Preloaded into a daemon: shifts the time of day that it is told by the seconds that
// CLOCK_OFFSET_FILE holds, a signed number of eight bytes. The file is mapped once, since
// the engine's rules let it open nothing later. Time that counts from the boot is as it is.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

const volatile std::int64_t* map_offset() {
  const char* name = std::getenv("CLOCK_OFFSET_FILE");
  if (name == nullptr) return nullptr;
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();
  void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) std::abort();
  return static_cast<const volatile std::int64_t*>(mapped);
}

int shifted(clockid_t clock, timespec* time) {
  static const auto kReal = reinterpret_cast<ClockGettime>(::dlsym(RTLD_NEXT, "clock_gettime"));
  static const volatile std::int64_t* const kOffset = map_offset();
  const int result = kReal(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME && kOffset != nullptr) time->tv_sec += *kOffset;
  return result;
}

// Before the engine closes its door to files.
[[gnu::constructor]] void prepare() {
  timespec now{};
  shifted(CLOCK_REALTIME, &now);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return shifted(clock, time);
}

time_t time(time_t* out) noexcept {
  timespec now{};
  shifted(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* out, void* /*zone*/) noexcept {
  timespec now{};
  shifted(CLOCK_REALTIME, &now);
  *out = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}
}
