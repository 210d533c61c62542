#include "qtest/qtest_machine.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace paravane {
namespace {

std::vector<std::string> arguments_of(const QtestMachine::Options& options) {
  const std::uint64_t megabytes = QtestMachine::kRamBytes >> 20;
  std::vector<std::string> arguments{
      "-accel",      "qtest",           "-display", "none",
      "-nodefaults", "-no-user-config", "-m",       fmt::format("{}", megabytes)};
  if (options.memory.empty()) {
    arguments.insert(arguments.end(), {"-machine", "q35"});
  } else {
    arguments.insert(arguments.end(),
                     {"-machine", "q35,memory-backend=m0", "-object",
                      fmt::format("{},id=m0,size={}M", options.memory, megabytes)});
  }
  arguments.insert(arguments.end(), options.more.begin(), options.more.end());
  arguments.insert(arguments.end(),
                   {"-device", fmt::format(R"({{"driver":"vfio-user-pci","id":"vu0","addr":"{}",)"
                                           R"("socket":{{"type":"unix","path":"{}"}}}})",
                                           options.address, options.device_socket.string())});
  return arguments;
}

constexpr const char* suffix(unsigned bytes) {
  switch (bytes) {
    case 1: return "b";
    case 2: return "w";
    case 4: return "l";
    default: return "q";
  }
}

}  // namespace

QtestMachine::QtestMachine(const std::filesystem::path& directory, const Options& options,
                           QemuProcess::Pump pump)
    : process_(directory, arguments_of(options), std::move(pump)) {
  is_up_ = process_.is_up() && process_.qmp().read_line()  // its greeting
           && qmp("qmp_capabilities");
}

std::string QtestMachine::command(const std::string& line) {
  process_.qtest().write(line + "\n");
  const std::optional<std::string> answer = process_.qtest().read_line();
  if (!answer || !answer->starts_with("OK")) {
    ADD_FAILURE() << line << " -> " << answer.value_or("nothing") << "\n" << process_.log();
    return "";
  }
  return answer->size() > 3 ? answer->substr(3) : "";
}

void QtestMachine::out(unsigned bytes, std::uint16_t port, std::uint32_t value) {
  command(fmt::format("out{} {:#x} {:#x}", suffix(bytes), port, value));
}

std::uint32_t QtestMachine::in(unsigned bytes, std::uint16_t port) {
  const std::string value = command(fmt::format("in{} {:#x}", suffix(bytes), port));
  return static_cast<std::uint32_t>(std::strtoull(value.c_str(), nullptr, 0));
}

void QtestMachine::write(unsigned bytes, std::uint64_t address, std::uint64_t value) {
  command(fmt::format("write{} {:#x} {:#x}", suffix(bytes), address, value));
}

std::uint64_t QtestMachine::read(unsigned bytes, std::uint64_t address) {
  const std::string value = command(fmt::format("read{} {:#x}", suffix(bytes), address));
  return std::strtoull(value.c_str(), nullptr, 0);
}

bool QtestMachine::qmp(const std::string& command) {
  process_.qmp().write(fmt::format(R"({{"execute":"{}"}})", command) + "\n");
  while (const std::optional<std::string> line = process_.qmp().read_line()) {
    if (line->find("\"return\"") != std::string::npos) return true;
    if (line->find("\"error\"") != std::string::npos) return false;
    events_.push_back(*line);
  }
  return false;
}

bool QtestMachine::wait_for_event(const std::string& name) {
  const std::string wanted = fmt::format("\"event\": \"{}\"", name);
  const auto is_it = [&](const std::string& line) {
    return line.find(wanted) != std::string::npos;
  };
  if (std::ranges::any_of(events_, is_it)) return true;
  while (const std::optional<std::string> line = process_.qmp().read_line()) {
    if (is_it(*line)) return true;
  }
  return false;
}

}  // namespace paravane
