#include "api/capture_json.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

model::CaptureSpec read_capture_spec(JsonReader& reader) {
  model::CaptureSpec spec;
  if (auto vm = reader.text("vm")) spec.vm = std::move(*vm);
  if (auto uplink = reader.text("uplink")) spec.uplink = std::move(*uplink);
  if (const auto snaplen = reader.number("snaplen", model::kMaxSnaplen)) {
    spec.snaplen = static_cast<std::uint32_t>(*snaplen);
  }
  return spec;
}

Result<model::CaptureInterface> interface_from_json(const json& value) {
  JsonReader reader(value, "interface");
  model::CaptureInterface interface;
  interface.name = reader.need_text("name");
  interface.packets = reader.need_number("packets");
  interface.dropped = reader.need_number("dropped");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return interface;
}

Result<model::CaptureStatus> read_capture_status(JsonReader& reader) {
  model::CaptureStatus status;
  status.id = reader.need_number("id");
  status.spec = read_capture_spec(reader);
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

json to_json(const model::CaptureSpec& spec) {
  json result = {{"snaplen", spec.snaplen}};
  result[spec.uplink.empty() ? "vm" : "uplink"] = captured(spec);
  return result;
}

json to_json(const model::CaptureStatus& status) {
  json result = to_json(status.spec);
  result["id"] = status.id;
  result["ended"] = status.ended;
  json interfaces = json::array();
  for (const model::CaptureInterface& one : status.interfaces) {
    interfaces.push_back({{"name", one.name}, {"packets", one.packets}, {"dropped", one.dropped}});
  }
  result["interfaces"] = std::move(interfaces);
  return result;
}

json to_json(const model::CapturePackets& packets) {
  json result = to_json(packets.status);
  result["blocks"] = base64_encode(packets.blocks);
  return result;
}

Result<model::CaptureSpec> capture_spec_from_json(const json& value) {
  JsonReader reader(value, "capture");
  model::CaptureSpec spec = read_capture_spec(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_capture(spec); !good) return std::unexpected(good.error());
  return spec;
}

Result<model::CaptureStatus> capture_status_from_json(const json& value) {
  JsonReader reader(value, "capture");
  Result<model::CaptureStatus> status = read_capture_status(reader);
  if (!status) return status;
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

Result<model::CapturePackets> capture_packets_from_json(const json& value) {
  JsonReader reader(value, "capture");
  Result<model::CaptureStatus> status = read_capture_status(reader);
  if (!status) return std::unexpected(status.error());
  const std::string text = reader.need_text("blocks");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  auto blocks = base64_decode(text);
  if (!blocks) return fail(Errc::kInvalidArgument, "\"blocks\" is not base64");
  return model::CapturePackets{.status = std::move(*status), .blocks = std::move(*blocks)};
}

}  // namespace paravane::api
