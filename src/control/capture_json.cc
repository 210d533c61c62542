#include "control/capture_json.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "control/json_reader.h"
#include "control/vm.h"

namespace paravane::control {

using nlohmann::json;

namespace {

CaptureSpec read_spec(JsonReader& reader) {
  CaptureSpec spec;
  spec.vm = reader.need_text("vm");
  if (const auto snaplen = reader.number("snaplen", kMaxSnaplen)) {
    spec.snaplen = static_cast<std::uint32_t>(*snaplen);
  }
  return spec;
}

Result<CaptureInterface> interface_from_json(const json& value) {
  JsonReader reader(value, "interface");
  CaptureInterface interface;
  interface.name = reader.need_text("name");
  interface.packets = reader.need_number("packets");
  interface.dropped = reader.need_number("dropped");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return interface;
}

Result<CaptureStatus> read_status(JsonReader& reader) {
  CaptureStatus status;
  status.id = reader.need_number("id");
  status.spec = read_spec(reader);
  status.ended = reader.boolean("ended").value_or(false);
  if (const json* array = reader.array("interfaces")) {
    for (const json& element : *array) {
      auto interface = interface_from_json(element);
      if (!interface) return std::unexpected(interface.error());
      status.interfaces.push_back(std::move(*interface));
    }
  }
  return status;
}

}  // namespace

json to_json(const CaptureSpec& spec) {
  return {{"vm", spec.vm}, {"snaplen", spec.snaplen}};
}

json to_json(const CaptureStatus& status) {
  json result = to_json(status.spec);
  result["id"] = status.id;
  result["ended"] = status.ended;
  json interfaces = json::array();
  for (const CaptureInterface& one : status.interfaces) {
    interfaces.push_back({{"name", one.name}, {"packets", one.packets}, {"dropped", one.dropped}});
  }
  result["interfaces"] = std::move(interfaces);
  return result;
}

json to_json(const CapturePackets& packets) {
  json result = to_json(packets.status);
  result["blocks"] = base64_encode(packets.blocks);
  return result;
}

Result<CaptureSpec> capture_spec_from_json(const json& value) {
  JsonReader reader(value, "capture");
  CaptureSpec spec = read_spec(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = check_name(spec.vm); !good) return std::unexpected(good.error());
  return spec;
}

Result<CaptureStatus> capture_status_from_json(const json& value) {
  JsonReader reader(value, "capture");
  Result<CaptureStatus> status = read_status(reader);
  if (!status) return status;
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<CapturePackets> capture_packets_from_json(const json& value) {
  JsonReader reader(value, "capture");
  Result<CaptureStatus> status = read_status(reader);
  if (!status) return std::unexpected(status.error());
  const std::string text = reader.need_text("blocks");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  auto blocks = base64_decode(text);
  if (!blocks) return fail(Errc::kInvalidArgument, "\"blocks\" is not base64");
  return CapturePackets{.status = std::move(*status), .blocks = std::move(*blocks)};
}

}  // namespace paravane::control
