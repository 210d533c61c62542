#include "rdma/sysfs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

namespace paravane::rdma {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 4096;     // what a file of sysfs has
constexpr std::size_t kMaxEntries = 1024;  // of a folder; a GID table has 256

std::string read_line(const fs::path& file) {
  std::ifstream in(file);
  std::string text(kMaxFile, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

// In the order of names.
std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (names.size() < kMaxEntries) names.push_back(entry->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

template <typename Number>
std::optional<Number> number_at(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// "4: ACTIVE"
PortState read_state(const std::string& text) {
  const auto number = number_at<unsigned>(text);
  if (!number || *number > static_cast<unsigned>(PortState::kActiveDefer)) {
    return PortState::kUnknown;
  }
  return static_cast<PortState>(*number);
}

// "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)"
std::uint32_t read_speed(const std::string& text) {
  const auto gigabits = number_at<double>(text);
  constexpr double kMost = 1e6;
  if (!gigabits || *gigabits < 0 || *gigabits > kMost) return 0;
  return static_cast<std::uint32_t>(*gigabits * 1000);
}

bool is_rnic(const fs::path& device) {
  return read_line(device / "node_type").starts_with("4");  // "4: RNIC"
}

std::string read_driver(const fs::path& device) {
  std::error_code error;
  const fs::path driver = fs::read_symlink(device / "device/driver", error);
  if (!error) return driver.filename();
  // Those that are programs of the kernel have no device behind them.
  return is_rnic(device) ? "siw" : "rdma_rxe";
}

std::string read_pci(const fs::path& device) {
  std::error_code error;
  const fs::path bus = fs::read_symlink(device / "device/subsystem", error);
  if (error || bus.filename() != "pci") return {};
  const fs::path behind = fs::read_symlink(device / "device", error);
  return error ? std::string() : behind.filename().string();
}

std::map<std::string, std::uint64_t> read_numbers(const fs::path& folder) {
  std::map<std::string, std::uint64_t> numbers;
  for (const std::string& name : names_in(folder)) {
    if (name == "lifespan") continue;  // a setting, not a counter
    const auto number = number_at<std::uint64_t>(read_line(folder / name));
    if (number) numbers[name] = *number;
  }
  return numbers;
}

}  // namespace

std::vector<Port> Sysfs::ports() const {
  std::vector<Port> ports;
  const fs::path devices = root_ / "class/infiniband";
  for (const std::string& device : names_in(devices)) {
    for (const std::string& port : names_in(devices / device / "ports")) {
      if (const auto number = number_at<std::uint32_t>(port)) {
        ports.push_back(read_port(devices / device, *number));
      }
    }
  }
  return ports;
}

Port Sysfs::read_port(const fs::path& device, std::uint32_t number) const {
  const fs::path folder = folder_of(device.filename(), number);
  return Port{.device = device.filename(),
              .number = number,
              .driver = read_driver(device),
              .pci = read_pci(device),
              .link_layer = read_line(folder / "link_layer"),
              .state = read_state(read_line(folder / "state")),
              .speed_mbps = read_speed(read_line(folder / "rate")),
              .iwarp = is_rnic(device)};
}

void Sysfs::read_gids(Port& port) const {
  const fs::path attributes = folder_of(port.device, port.number) / "gid_attrs";
  for (const std::string& index : names_in(attributes / "types")) {
    const std::string type = read_line(attributes / "types" / index);
    port.roce_v1 = port.roce_v1 || (type == "IB/RoCE v1" && port.link_layer == "Ethernet");
    port.roce_v2 = port.roce_v2 || type == "RoCE v2";
    if (port.net_device.empty()) port.net_device = read_line(attributes / "ndevs" / index);
  }
}

fs::path Sysfs::folder_of(const std::string& device, std::uint32_t port) const {
  return root_ / "class/infiniband" / device / "ports" / std::to_string(port);
}

Result<PortCounters> Sysfs::counters(const std::string& device, std::uint32_t port) const {
  const std::vector<std::string> devices = names_in(root_ / "class/infiniband");
  const fs::path folder = folder_of(device, port);
  std::error_code error;
  if (std::ranges::find(devices, device) == devices.end() || !fs::is_directory(folder, error)) {
    return fail(Errc::kNotFound, fmt::format("RDMA device {}/{} does not exist", device, port));
  }
  PortCounters result{.counters = read_numbers(folder / "counters"),
                      .hw_counters = read_numbers(folder / "hw_counters")};
  return result;
}

}  // namespace paravane::rdma
