#include "privsep/machine_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/machine_json.h"
#include "api/nic_dcb_json.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/distributed_switch.h"

namespace paravane::privsep {
namespace {

using nlohmann::json;

// A look takes milliseconds; a driver that does not answer is not waited for.
constexpr auto kMachinePatience = std::chrono::seconds(3);

constexpr std::string_view kMachine = "machine";
constexpr std::string_view kDcb = "dcb ";
constexpr std::string_view kStats = "stats ";
constexpr std::size_t kMaxDeviceName = 63;  // of the kernel: IB_DEVICE_NAME_MAX without its end
constexpr std::size_t kMaxReport = Note::kMaxLongText - kMaxQuestionNumber - 1;

json problem(const std::string& text) {
  return {{"problem", text}};
}

template <typename T>
json report(const Result<T>& result) {
  return result ? api::to_json(*result) : problem(result.error().message);
}

bool is_device_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxDeviceName && name.front() != '.';
  return good && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

json answer_dcb(std::string_view nic, MachineLooker& looker) {
  if (!model::check_interface_name(nic)) return problem("refused: not the name of a NIC");
  return report(looker.read_dcb(std::string(nic)));
}

// "mlx5_0 1"
json answer_stats(std::string_view words, MachineLooker& looker) {
  const std::size_t blank = std::min(words.find(' '), words.size());
  const std::string_view device = words.substr(0, blank);
  const std::string_view number = words.substr(std::min(blank + 1, words.size()));
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port);
  if (!is_device_name(device) || error != std::errc() || end != number.data() + number.size()) {
    return problem("refused: not a port of a device");
  }
  return report(looker.read_stats(std::string(device), port));
}

json answer(std::string_view question, MachineLooker& looker) {
  if (question == kMachine) return report(looker.look());
  if (question.starts_with(kDcb)) return answer_dcb(question.substr(kDcb.size()), looker);
  if (question.starts_with(kStats)) return answer_stats(question.substr(kStats.size()), looker);
  return problem("refused: unknown request");
}

}  // namespace

Result<model::Machine> MachineLine::look() {
  return ask(std::string(kMachine), api::machine_from_json);
}

Result<model::NicDcb> MachineLine::read_dcb(const std::string& nic) {
  return ask(fmt::format("{}{}", kDcb, nic), api::nic_dcb_from_json);
}

Result<model::RdmaStats> MachineLine::read_stats(const std::string& device, std::uint32_t port) {
  return ask(fmt::format("{}{} {}", kStats, device, port), api::rdma_stats_from_json);
}

template <typename T>
Result<T> MachineLine::ask(std::string question, Result<T> (*read)(const json&)) {
  const auto text = ask_keeper(keeper_,
                               {.kind = Note::Kind::kMachineQuestion,
                                .report = Note::Kind::kMachineReport,
                                .number = next_++,
                                .text = std::move(question),
                                .patience = kMachinePatience},
                               other_note_);
  if (!text) return std::unexpected(text.error());
  const Result<json> value = parse_json(*text);
  if (!value)
    return fail(Errc::kIo, "invalid report from the privileged process: " + value.error().message);
  if (value->is_object() && value->contains("problem")) {
    JsonReader reader(*value, "report");
    return fail(Errc::kIo, reader.need_text("problem"));
  }
  return read(*value);
}

std::string answer_machine_question(std::string_view text, MachineLooker& looker) {
  const NumberedText question = split_number(text);
  std::string line = print_json(answer(question.text, looker));
  if (line.size() > kMaxReport) line = print_json(problem("this host has too many devices"));
  return fmt::format("{} {}", question.number, line);
}

}  // namespace paravane::privsep
