// paravane sniff: what a VM or an InfiniBand port sends and receives, into a file that Wireshark
// reads.

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/version.h"
#include "model/capture.h"
#include "text/erf.h"
#include "text/pcapng.h"

namespace paravane::cli {
namespace {

namespace pcapng = text::pcapng;
using Clock = std::chrono::steady_clock;

// Between two looks that found nothing.
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000'000};

// After the end is asked for, so that a busy VM cannot keep us here: more than its packets
// take that lie with the daemon then.
constexpr unsigned kLastReads = 12;

constexpr std::uint32_t kMaxSeconds = 365u * 24 * 3600;

struct SniffOptions {
  model::CaptureSpec spec;
  std::string file;
  std::uint32_t count = 0;    // 0: no end
  std::uint32_t seconds = 0;  // 0: no end
};

std::uint64_t wall_clock_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
}

// Signals that end a capture are waited for, never delivered: the file is always whole.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&ending_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending_, signal);
    sigset_t blocked = ending_;
    sigaddset(&blocked, SIGPIPE);  // a reader of our output that ends is seen when we write
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  }

  bool came(const timespec& within) {
    came_ = came_ || sigtimedwait(&ending_, nullptr, &within) > 0;
    return came_;
  }

 private:
  sigset_t ending_{};
  bool came_ = false;
};

// The file, or standard output.
class Output {
 public:
  // Errors: kIo.
  Status open(const std::string& file) {
    name_ = file == "-" ? "standard output" : file;
    if (file != "-") {
      file_ = UniqueFd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      fd_ = file_.get();
      return fd_ >= 0 ? Status() : failed("open");
    }
    if (::isatty(STDOUT_FILENO) == 0) return {};
    return fail(Errc::kIo, "a capture cannot be written to a terminal; name a file with -w");
  }

  // Errors: kIo; kBadState: whoever read it has gone.
  Status write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EPIPE)
        return fail(Errc::kBadState, "the program that read the capture has exited");
      if (written < 0) return failed("write to");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

 private:
  std::unexpected<Error> failed(const char* what) const {
    return fail_by_system(Errc::kIo, fmt::format("cannot {} {}", what, name_), errno);
  }

  UniqueFd file_;
  int fd_ = STDOUT_FILENO;
  std::string name_;
};

// One run of the command, from the daemon's capture to the file.
class Sniff {
 public:
  Sniff(const SniffOptions& options, const Context& context)
      : options_(options), client_(context.client()) {}

  ExitStatus run() {
    started_ns_ = wall_clock_ns();
    auto capture = client_.start_capture(options_.spec);
    if (!capture) return report(capture.error(), client_);
    status_ = std::move(*capture);
    // An old file is not touched before there is something for a new one.
    const Status opened = output_.open(options_.file);
    ExitStatus status = opened ? write_begin() : complain(opened.error());
    if (status == ExitStatus::kOk) status = follow();
    if (auto ended = client_.end_capture(status_.id)) status_ = std::move(*ended);
    // Also after a failure: what is in the file is whole.
    if (opened) write_end();
    return status;
  }

 private:
  static ExitStatus complain(const Error& error) {
    return report_failure("sniff: " + error.message, "");
  }

  ExitStatus write_begin() {
    const std::uint32_t snaplen = options_.spec.snaplen;
    fmt::print(stderr, "paravane: capturing {}, {} of each packet; press Ctrl-C to stop\n",
               captured(options_.spec), snaplen == 0 ? "all" : fmt::format("{} bytes", snaplen));
    std::string begin;
    pcapng::append_section(fmt::format("paravane {}", kVersion), begin);
    for (const auto& interface : status_.interfaces) {
      append_interface(interface.name, begin);
    }
    const Status written = output_.write(begin);
    return written ? ExitStatus::kOk : complain(written.error());
  }

  void append_interface(const std::string& name, std::string& begin) const {
    const std::uint32_t snaplen = options_.spec.snaplen;
    if (is_of_vm()) {
      pcapng::append_interface(name, pcapng::LinkType::kEthernet, snaplen, begin);
    } else {
      const std::uint32_t with_header =
          snaplen == 0 ? 0 : snaplen + static_cast<std::uint32_t>(text::erf::kHeaderBytes);
      pcapng::append_interface(name, pcapng::LinkType::kErf, with_header, begin);
    }
  }

  ExitStatus follow() {
    const auto end = options_.seconds == 0 ? Clock::time_point::max()
                                           : Clock::now() + std::chrono::seconds(options_.seconds);
    unsigned reads_left = kLastReads;
    bool is_over = false;
    while (!has_enough() && reads_left > 0) {
      const auto packets = client_.read_capture(status_.id);
      if (!packets) return report(packets.error(), client_);
      status_ = packets->status;
      if (Status kept = keep(packets->blocks); !kept) {
        return kept.error().code == Errc::kBadState ? ExitStatus::kOk : complain(kept.error());
      }
      if (status_.ended) {
        fmt::print(stderr, "paravane: the capture of {} has ended, because {}\n",
                   captured(options_.spec),
                   is_of_vm() ? "its adapters were removed"
                              : "its InfiniBand adapter was removed or restarted");
        return ExitStatus::kOk;
      }
      const bool is_idle = packets->blocks.empty();
      // What came before the end was asked for is found by a look after it.
      if (is_over && is_idle) return ExitStatus::kOk;
      if (is_over) --reads_left;
      is_over = is_over || Clock::now() >= end || signals_.came(is_idle ? kPause : timespec{});
    }
    return ExitStatus::kOk;
  }

  bool is_of_vm() const { return options_.spec.uplink.empty(); }
  bool has_enough() const { return options_.count != 0 && kept_ >= options_.count; }

  // Errors: as Output::write(); kInvalidArgument.
  Status keep(std::string_view blocks) {
    const std::uint64_t wanted = options_.count == 0 ? ~std::uint64_t{0} : options_.count - kept_;
    const auto first = pcapng::first_packets(
        blocks, static_cast<std::uint32_t>(status_.interfaces.size()), wanted);
    if (!first) {
      return fail(Errc::kInvalidArgument,
                  "cannot parse the daemon's response: " + first.error().message);
    }
    kept_ += first->count;
    kept_of_.resize(first->interfaces.size());
    for (std::size_t i = 0; i < kept_of_.size(); ++i) {
      kept_of_[i].kept += first->interfaces[i].kept;
      kept_of_[i].dropped += first->interfaces[i].dropped;
    }
    return output_.write(blocks.substr(0, first->bytes));
  }

  void write_end() {
    std::string end;
    std::uint64_t dropped = 0;
    for (std::uint32_t i = 0; i < status_.interfaces.size(); ++i) {
      const pcapng::Statistics statistics = statistics_of(i);
      dropped += statistics.dropped;
      pcapng::append_statistics(statistics, end);
    }
    const Status written = output_.write(end);
    if (!written && written.error().code != Errc::kBadState) complain(written.error());
    fmt::print(stderr, "paravane: {} packets captured, {} dropped{}\n", kept_, dropped,
               has_enough() ? " between them; stopped by --count" : "");
  }

  // A capture that --count stopped does not count what came after its last packet.
  pcapng::Statistics statistics_of(std::uint32_t number) const {
    pcapng::Statistics statistics{
        .interface = number, .from_ns = started_ns_, .to_ns = wall_clock_ns()};
    if (has_enough()) {
      statistics.dropped = kept_of_[number].dropped;
      statistics.received = kept_of_[number].kept + statistics.dropped;
    } else {
      statistics.dropped = status_.interfaces[number].dropped;
      statistics.received = status_.interfaces[number].packets;
    }
    return statistics;
  }

  const SniffOptions& options_;
  api::ApiClient client_;
  EndSignals signals_;
  Output output_;
  model::CaptureStatus status_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t kept_ = 0;
  std::vector<pcapng::InterfacePackets> kept_of_;  // by interface
};

ExitStatus run_sniff(const SniffOptions& options, const Context& context) {
  const model::CaptureSpec& spec = options.spec;
  if (spec.vm.empty() && spec.uplink.empty())
    return report_usage("sniff: name what to capture with --vm or --uplink");
  if (const Status good = model::check_capture(spec); !good) {
    return report_usage(fmt::format("{} {}: {}", spec.uplink.empty() ? "vm" : "uplink",
                                    captured(spec), good.error().message));
  }
  return Sniff(options, context).run();
}

}  // namespace

void add_sniff_command(CLI::App& parent, Run& run) {
  CLI::App* sniff = parent.add_subcommand(
      "sniff", "Capture the traffic of a VM or an InfiniBand port for Wireshark");
  auto options = std::make_shared<SniffOptions>();
  CLI::Option* vm = sniff->add_option("--vm", options->spec.vm, "VM to capture, as RoCE packets")
                        ->type_name("NAME");
  sniff
      ->add_option("--uplink", options->spec.uplink,
                   "Port of an InfiniBand adapter to capture, by the uplink that it makes")
      ->type_name("NAME")
      ->excludes(vm);
  sniff->add_option("-w,--write", options->file, "File to write; - is standard output")
      ->type_name("FILE")
      ->required();
  sniff
      ->add_option("-s,--snaplen", options->spec.snaplen,
                   "Keep this much of each packet (default: 0, all of it)")
      ->type_name("BYTES")
      ->check(CLI::Range(0u, model::kMaxSnaplen).description(""));
  sniff
      ->add_option("-c,--count", options->count, "Stop after this many packets (default: no limit)")
      ->type_name("PACKETS")
      ->check(CLI::Range(1u, 1u << 31).description(""));
  sniff->add_option("--seconds", options->seconds, "Stop after this time (default: no limit)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1u, kMaxSeconds).description(""));
  sniff->footer(
      "Ctrl-C also stops the capture. VMs do not exchange packets: the file shows the packets\n"
      "that a wire would carry. It contains the guest's data. Of an uplink, it shows all "
      "InfiniBand\n"
      "packets of the port, those of management too.\n"
      "Examples:\n"
      "  paravane sniff --vm db1 -w db1.pcapng --seconds 10\n"
      "  paravane sniff --vm db1 -w - | wireshark -k -i -\n"
      "  paravane sniff --vm db1 -w - -c 20 | tshark -r -\n"
      "  paravane sniff --uplink vmnic32 -w vmnic32.pcapng");
  sniff->callback([options, &run] {
    run = [options](const Context& context) { return run_sniff(*options, context); };
  });
}

}  // namespace paravane::cli
