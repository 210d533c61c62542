#include "umad_library/names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

namespace paravane::umad_library {
namespace {

struct Named {
  std::uint16_t number;
  const char* name;
};

const char* find(std::span<const Named> table, std::uint16_t number, const char* otherwise) {
  const auto found = std::ranges::find(table, number, &Named::number);
  return found != table.end() ? found->name : otherwise;
}

constexpr std::uint8_t kSubnLid = 0x01;
constexpr std::uint8_t kSubnDirected = 0x81;
constexpr std::uint8_t kSubnAdm = 0x03;
constexpr std::uint8_t kCommunication = 0x07;

constexpr const char* kUnknown = "<unknown>";
constexpr const char* kUnknownMethod = "<unknown";

constexpr Named kClasses[] = {
    {kSubnLid, "Subn"},    {kSubnDirected, "Subn"},
    {kSubnAdm, "SubnAdm"}, {0x04, "Perf"},
    {0x05, "BM"},          {0x06, "DevMgt"},
    {0x07, "ComMgt"},      {0x08, "SNMP"},
    {0x10, "DevAdm"},      {0x11, "BootMgt"},
    {0x12, "BIS"},         {0x21, "CongestionManagment"},
};

constexpr Named kMethods[] = {
    {0x01, "Get"},    {0x02, "Set"},         {0x03, "Send"},    {0x05, "Trap"},
    {0x06, "Report"}, {0x07, "TrapRepress"}, {0x81, "GetResp"}, {0x86, "ReportResp"},
};

constexpr Named kSubnAdmMethods[] = {
    {0x12, "GetTable"},     {0x13, "GetTraceTable"}, {0x14, "GetMulti"},   {0x15, "Delete"},
    {0x92, "GetTableResp"}, {0x94, "GetMultiResp"},  {0x95, "DeleteResp"},
};

constexpr Named kAttributes[] = {
    {0x01, "Class Port Info"},
    {0x02, "Notice"},
    {0x03, "Inform Info"},
};

constexpr Named kSubnAttributes[] = {
    {0x10, "NodeDescription"},
    {0x11, "NodeInfo"},
    {0x12, "SwitchInfo"},
    {0x14, "GUIDInfo"},
    {0x15, "PortInfo"},
    {0x16, "P_KeyTable"},
    {0x17, "SLtoVLMappingTable"},
    {0x18, "VLArbitrationTable"},
    {0x19, "LinearForwardingTable"},
    {0x1A, "RandomForwardingTable"},
    {0x1B, "MulticastForwardingTable"},
    {0x1C, "LinkSpeedWidthPairsTable"},
    {0x1D, "VendorSpecificMadsTable"},
    {0x1E, "HierarchyInfo"},
    {0x20, "SMInfo"},
    {0x30, "VendorDiag"},
    {0x31, "LedInfo"},
    {0x32, "CableInfo"},
    {0x33, "PortInfoExtended"},
};

constexpr Named kSubnAdmAttributes[] = {
    {0x11, "NodeRecord"},
    {0x12, "PortInfoRecord"},
    {0x13, "SLtoVLMappingTableRecord"},
    {0x14, "SwitchInfoRecord"},
    {0x15, "LinearForwardingTableRecord"},
    {0x16, "RandomForwardingTableRecord"},
    {0x17, "MulticastForwardingTableRecord"},
    {0x18, "SMInfoRecord"},
    {0x19, "LinkSpeedWidthPairsTableRecord"},
    {0x20, "LinkRecord"},
    {0x30, "GuidInfoRecord"},
    {0x31, "ServiceRecord"},
    {0x33, "P_KeyTableRecord"},
    {0x35, "PathRecord"},
    {0x36, "VLArbitrationTableRecord"},
    {0x38, "MCMemberRecord"},
    {0x39, "TraceRecord"},
    {0x3A, "MultiPathRecord"},
    {0x3B, "ServiceAssociationRecord"},
    {0x3C, "HierarchyInfoRecord"},
    {0x3D, "CableInfoRecord"},
    {0x3E, "PortInfoExtendedRecord"},
    {0xF3, "InformInfoRecord"},
};

constexpr Named kCommunicationAttributes[] = {
    {0x10, "ConnectRequest"},
    {0x11, "MsgRcptAck"},
    {0x12, "ConnectReject"},
    {0x13, "ConnectReply"},
    {0x14, "ReadyToUse"},
    {0x15, "DisconnectRequest"},
    {0x16, "DisconnectReply"},
    {0x17, "ServiceIDResReq"},
    {0x18, "ServiceIDResReqResp"},
    {0x19, "LoadAlternatePath"},
    {0x1A, "AlternatePathResponse"},
    {0x1B, "SuggestAlternatePath"},
    {0x1C, "SuggestPathResponse"},
};

constexpr std::array kSubnAdmStatuses = {
    "Success",
    "No Resources",
    "Request Invalid",
    "No Records",
    "Too Many Records",
    "Invalid GID",
    "Insufficient Components",
    "Request Denied",
    "Priority Suggested",
};

// Bits 2 to 4 of a status.
constexpr Named kInvalidFields[] = {
    {1, "Bad Version"},
    {2, "Method not supported"},
    {3, "Method/Attribute combo not supported"},
    {7, "Invalid attribute/modifier field"},
};

std::span<const Named> attributes_of(std::uint8_t management_class) {
  switch (management_class) {
    case kSubnLid:
    case kSubnDirected: return kSubnAttributes;
    case kSubnAdm: return kSubnAdmAttributes;
    case kCommunication: return kCommunicationAttributes;
    default: return {};
  }
}

bool is_between(std::uint8_t value, std::uint8_t first, std::uint8_t last) {
  return value >= first && value <= last;
}

}  // namespace

const char* class_name(std::uint8_t management_class) {
  const bool is_vendors =
      is_between(management_class, 0x09, 0x0F) || is_between(management_class, 0x30, 0x4F);
  const char* range = is_vendors                                 ? "Vendor"
                      : is_between(management_class, 0x10, 0x2F) ? "Application"
                                                                 : kUnknown;
  return find(kClasses, management_class, range);
}

const char* method_name(std::uint8_t management_class, std::uint8_t method) {
  const char* common = find(kMethods, method, kUnknownMethod);
  return management_class == kSubnAdm ? find(kSubnAdmMethods, method, common) : common;
}

const char* attribute_name(std::uint8_t management_class, std::uint16_t attribute) {
  return find(attributes_of(management_class), attribute, find(kAttributes, attribute, kUnknown));
}

const char* common_status_name(std::uint16_t status) {
  if ((status & 0x01) != 0) return "Busy";
  if ((status & 0x02) != 0) return "Redirection required";
  return find(kInvalidFields, static_cast<std::uint16_t>(status >> 2 & 7), "Success");
}

const char* administration_status_name(std::uint16_t status) {
  const unsigned cause = status >> 8;
  return cause < kSubnAdmStatuses.size() ? kSubnAdmStatuses[cause] : "Undefined Error";
}

}  // namespace paravane::umad_library
