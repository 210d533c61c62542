#include "model/ib_module.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/nearest_name.h"

namespace paravane::model {
namespace {

constexpr std::uint32_t kMostBus = 255;
// The guide's own line for ib_basic begins with it (4.4.2.3).
constexpr std::string_view kKernelSymbols = "--export-ksyms=";

constexpr std::array kMlx4Parameters = {
    IbParameter{
        kPortTypeDefault, "", IbParameterForm::kNumber, 1, 2, 1,
        "Type of the ports without a triplet in port_types: 1 (InfiniBand) or 2 (Ethernet)"},
    IbParameter{kPortTypes, "", IbParameterForm::kPortTypes, 0, 0, 0,
                "Types of single ports, in triplets of PCI bus, port and type, such as "
                "13,1,1,13,2,2"},
};
constexpr std::array kBasicParameters = {
    IbParameter{kMsiX, "", IbParameterForm::kNumber, 0, 1, 1,
                "MSI-X of the adapters, which NetQueue needs: 1 (enabled) or 0"},
};
constexpr std::array kIpoibParameters = {
    IbParameter{kUplinkNum, "UplinkNum", IbParameterForm::kPortNumbers, 1, 16, 1,
                "Uplinks of each InfiniBand port; at most 8 of a port and 16 of the host are made"},
    IbParameter{"RxQueueSize", "", IbParameterForm::kPortNumbers, 64, 8192, 1024,
                "Size of the receive ring, in packets; accepted for compatibility"},
    IbParameter{"TxQueueSize", "", IbParameterForm::kPortNumbers, 64, 8192, 1024,
                "Size of the transmit ring, in packets; accepted for compatibility"},
    IbParameter{kNetQueue, "", IbParameterForm::kPortNumbers, 0, 1, 1,
                "NetQueue of the uplinks of a ConnectX adapter: 1 (enabled) or 0"},
};
constexpr std::array kSrpParameters = {
    IbParameter{kMaxSrpTargetsName, "", IbParameterForm::kNumber, 1, 64, 16,
                "Targets of each storage adapter"},
    IbParameter{kMaxVmhbasName, "", IbParameterForm::kNumber, 1, 8, 1,
                "Storage adapters of each InfiniBand port"},
};
constexpr std::array kKernelParameters = {
    IbParameter{kNetQueueEnabled, "", IbParameterForm::kSwitch, 0, 1, 1,
                "NetQueue of the host: TRUE or FALSE"},
};

constexpr std::array<std::string_view, 1> kNeedsOfBasic = {kModuleMlx4};
constexpr std::array<std::string_view, 2> kNeedsOfProtocols = {kModuleMlx4, kModuleBasic};

constexpr std::array kModules = {
    IbModule{kModuleKernel, "Host", kKernelParameters, false, {}},
    IbModule{
        kModuleMlx4, "ConnectX adapters, and the types of their ports", kMlx4Parameters, true, {}},
    IbModule{kModuleBasic, "InfiniBand core", kBasicParameters, true, kNeedsOfBasic},
    IbModule{kModuleIpoib, "IP over InfiniBand: the uplinks", kIpoibParameters, true,
             kNeedsOfProtocols},
    IbModule{kModuleSrp, "SCSI RDMA protocol: the storage adapters", kSrpParameters, true,
             kNeedsOfProtocols},
};

std::unexpected<Error> wrong(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

std::vector<std::string_view> pieces_of(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : pieces_of(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Digits alone.
std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool is_number = !text.empty() && error == std::errc() && rest == end;
  return is_number ? std::optional(value) : std::nullopt;
}

struct Word {
  std::string_view name;
  std::string_view value;
};
// nullopt: there is no '='.
std::optional<Word> parts_of(std::string_view word) {
  const std::size_t equal = word.find('=');
  if (equal == std::string_view::npos) return std::nullopt;
  return Word{.name = word.substr(0, equal), .value = word.substr(equal + 1)};
}

std::vector<std::string> names_of(const IbModule& module) {
  std::vector<std::string> names;
  for (const IbParameter& parameter : module.parameters) {
    names.emplace_back(parameter.name);
    if (!parameter.other_name.empty()) names.emplace_back(parameter.other_name);
  }
  return names;
}

Result<std::uint32_t> number_in(const IbParameter& parameter, const Word& word,
                                std::string_view text) {
  const auto value = number_of(text);
  if (value && *value >= parameter.least && *value <= parameter.most) return *value;
  return wrong(fmt::format("{}={}: '{}' is not a number from {} to {}", word.name, word.value, text,
                           parameter.least, parameter.most));
}

Result<std::vector<std::uint32_t>> read_numbers(const IbParameter& parameter, const Word& word) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view text : pieces_of(word.value, ',')) {
    const auto number = number_in(parameter, word, text);
    if (!number) return std::unexpected(number.error());
    numbers.push_back(*number);
  }
  const std::size_t most = parameter.form == IbParameterForm::kPortNumbers ? kMaxIbPorts : 1;
  if (numbers.size() <= most) return numbers;
  return wrong(fmt::format(
      "{}={}: at most {} can be given", word.name, word.value,
      most == 1 ? std::string("one number") : fmt::format("{} numbers, one for each port,", most)));
}

Result<std::vector<std::uint32_t>> read_switch(const Word& word) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 6> kWords = {
      {{"TRUE", 1}, {"FALSE", 0}, {"true", 1}, {"false", 0}, {"1", 1}, {"0", 0}}};
  for (const auto& [text, value] : kWords) {
    if (word.value == text) return std::vector{value};
  }
  return wrong(
      fmt::format("{}={}: '{}' is neither TRUE nor FALSE", word.name, word.value, word.value));
}

Result<std::vector<IbPortTypeWish>> read_port_types(const Word& word) {
  const std::vector<std::string_view> texts = pieces_of(word.value, ',');
  const auto refuse = [&word](std::string_view why) {
    return wrong(fmt::format("{}={}: {}", word.name, word.value, why));
  };
  if (texts.size() % 3 != 0)
    return refuse("the types are given in triplets of PCI bus, port and type");
  if (texts.size() / 3 > kMaxIbPorts) return refuse("there are more triplets than ports");
  std::vector<IbPortTypeWish> wishes;
  for (std::size_t i = 0; i < texts.size(); i += 3) {
    const auto bus = number_of(texts[i]);
    if (!bus || *bus > kMostBus)
      return refuse(fmt::format("'{}' is not a PCI bus, 0 to {}", texts[i], kMostBus));
    const auto port = number_of(texts[i + 1]);
    if (!port || *port < 1 || *port > 2)
      return refuse(fmt::format("'{}' is not a port, 1 or 2", texts[i + 1]));
    const auto type = number_of(texts[i + 2]);
    if (!type || *type < 1 || *type > 2)
      return refuse(
          fmt::format("'{}' is not a type, 1 (InfiniBand) or 2 (Ethernet)", texts[i + 2]));
    const auto is_same = [&](const IbPortTypeWish& one) {
      return one.bus == *bus && one.port == *port;
    };
    if (std::ranges::any_of(wishes, is_same))
      return refuse(fmt::format("port {} of bus {} is given twice", *port, *bus));
    wishes.push_back({.bus = *bus, .port = *port, .type = static_cast<IbPortType>(*type)});
  }
  return wishes;
}

Status read_word(const IbModule& module, std::string_view text, IbOptions& options) {
  const auto word = parts_of(text);
  if (!word || word->name.empty())
    return wrong(fmt::format("'{}' is not of the form parameter=value", text));
  const IbParameter* parameter = find_ib_parameter(module, word->name);
  if (parameter == nullptr) {
    const std::vector<std::string> names = names_of(module);
    const auto near = nearest_name(word->name, names);
    return wrong(fmt::format("module {} has no parameter '{}'{}", module.name, word->name,
                             near ? fmt::format("; do you mean {}?", *near) : std::string()));
  }
  const auto twice = [&] {
    return wrong(fmt::format("'{}': parameter {} is given twice", text, parameter->name));
  };
  if (parameter->form == IbParameterForm::kPortTypes) {
    if (!options.port_types.empty()) return twice();
    auto types = read_port_types(*word);
    if (!types) return std::unexpected(types.error());
    options.port_types = std::move(*types);
    return {};
  }
  auto numbers = parameter->form == IbParameterForm::kSwitch ? read_switch(*word)
                                                             : read_numbers(*parameter, *word);
  if (!numbers) return std::unexpected(numbers.error());
  if (!options.numbers.emplace(parameter->name, std::move(*numbers)).second) return twice();
  return {};
}

}  // namespace

std::span<const IbModule> ib_modules() {
  return kModules;
}

const IbModule* find_ib_module(std::string_view name) {
  const auto* found = std::ranges::find(kModules, name, &IbModule::name);
  return found == kModules.end() ? nullptr : found;
}

Status check_ib_module_name(std::string_view name) {
  if (find_ib_module(name) != nullptr) return {};
  std::vector<std::string> names;
  for (const IbModule& module : kModules) names.emplace_back(module.name);
  const auto near = nearest_name(name, names);
  return fail(Errc::kNotFound,
              fmt::format("there is no module '{}'{}", name,
                          near ? fmt::format("; do you mean {}?", *near) : std::string()));
}

const IbParameter* find_ib_parameter(const IbModule& module, std::string_view name) {
  for (const IbParameter& parameter : module.parameters) {
    const bool is_it = parameter.name == name || parameter.other_name == name;
    if (is_it && !name.empty()) return &parameter;
  }
  return nullptr;
}

Result<IbOptions> parse_ib_options(const IbModule& module, std::string_view text) {
  if (text.size() > kMaxIbOptionsBytes)
    return wrong(fmt::format("the options of module {} are longer than {} characters", module.name,
                             kMaxIbOptionsBytes));
  const auto is_seen = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(text, is_seen))
    return wrong(
        fmt::format("the options of module {} contain a character that is neither a "
                    "letter, a digit nor a sign of ASCII",
                    module.name));
  IbOptions options;
  for (const std::string_view word : words_of(text)) {
    if (module.name == kModuleBasic && word.starts_with(kKernelSymbols)) continue;
    if (Status read = read_word(module, word, options); !read) return std::unexpected(read.error());
  }
  return options;
}

std::uint32_t ib_value(const IbModule& module, const IbOptions& options, std::string_view parameter,
                       std::size_t port) {
  const std::uint32_t initial = find_ib_parameter(module, parameter)->initial;
  const auto found = options.numbers.find(parameter);
  if (found == options.numbers.end()) return initial;
  if (found->second.size() == 1) return found->second.front();
  return port < found->second.size() ? found->second[port] : initial;
}

std::string with_ib_option(const IbModule& module, std::string_view text, std::string_view name,
                           std::string_view value) {
  const IbParameter* wanted = find_ib_parameter(module, name);
  std::string result;
  const auto add = [&result](std::string_view word) {
    if (!result.empty()) result += ' ';
    result += word;
  };
  for (const std::string_view word : words_of(text)) {
    const auto parts = parts_of(word);
    const bool is_it =
        wanted != nullptr && parts && find_ib_parameter(module, parts->name) == wanted;
    if (!is_it) add(word);
  }
  add(fmt::format("{}={}", name, value));
  return result;
}

}  // namespace paravane::model
