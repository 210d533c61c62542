#include "bench/iperf.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr const char* kSeconds = "1";

// A program in one of the networks, on one core. It ends with us at the latest.
class Program {
 public:
  Program(int network, unsigned core, std::vector<const char*> words) {
    int ends[2];
    demand(::pipe2(ends, O_CLOEXEC) == 0, "there is no pipe");
    output_ = UniqueFd(ends[0]);
    const UniqueFd its_output(ends[1]);
    words.push_back(nullptr);
    pid_ = ::fork();
    demand(pid_ >= 0, "no program can be started");
    if (pid_ == 0) become(network, core, its_output.get(), words);
  }
  ~Program() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Adds what it prints, once. False: that is all.
  bool read(std::string& text) {
    char some[4096];
    const ssize_t got = ::read(output_.get(), some, sizeof some);
    if (got > 0) text.append(some, static_cast<std::size_t>(got));
    return got > 0;
  }
  // Its end; the processor time that it took.
  double finish() {
    int status = 0;
    rusage usage{};
    const pid_t ended = ::wait4(pid_, &status, 0, &usage);
    demand(ended == pid_ && status == 0, "iperf3 failed");
    pid_ = -1;
    return cpu_seconds(usage);
  }

 private:
  // In the child, which is a copy of one thread of many: system calls only.
  [[noreturn]] static void become(int network, unsigned core, int output,
                                  const std::vector<const char*>& words) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::setns(network, CLONE_NEWNET) == 0 &&
        ::sched_setaffinity(0, sizeof only, &only) == 0 && ::dup2(output, STDOUT_FILENO) >= 0) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execvp() changes nothing
      ::execvp(words[0], const_cast<char* const*>(words.data()));
    }
    ::_exit(127);
  }

  UniqueFd output_;
  pid_t pid_ = -1;
};

}  // namespace

Traffic iperf(const Cores& cores, const TwoNetworks& networks) {
  Program server(networks.network(1), cores.worker,
                 {"iperf3", "--server", "--one-off", "--forceflush"});
  std::string said;
  while (!said.contains("listening")) {
    demand(server.read(said), "iperf3 does not serve; scripts/setup --bench installs it");
  }
  const std::string address = TwoNetworks::address(1);
  Program client(networks.network(0), cores.guest,
                 {"iperf3", "--client", address.c_str(), "--time", kSeconds, "--json"});
  std::string report;
  while (client.read(report)) {
  }
  Traffic traffic;
  traffic.cpu_seconds[0] = client.finish();
  while (server.read(said)) {
  }
  traffic.cpu_seconds[1] = server.finish();
  const auto json = nlohmann::json::parse(report, nullptr, false);
  demand(!json.is_discarded() && json.contains("end") && json["end"].contains("sum_received"),
         "iperf3 reports nothing");
  traffic.bytes = json["end"]["sum_received"]["bytes"].get<double>();
  traffic.seconds = json["end"]["sum_received"]["seconds"].get<double>();
  demand(traffic.bytes > 0 && traffic.seconds > 0, "iperf3 moved nothing");
  return traffic;
}

}  // namespace paravane::bench
