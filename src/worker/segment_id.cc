#include "worker/segment_id.h"

#include "model/segment.h"

namespace paravane::worker {

verbs::SegmentId segment_of(const model::Network& network, const std::string& port_group,
                            const model::AdapterName& adapter) {
  if (port_group.empty()) return verbs::SegmentId::kBuiltIn;
  const auto number = model::segment_number(network, port_group);
  return verbs::SegmentId{number ? *number : model::lone_segment_number(to_string(adapter))};
}

}  // namespace paravane::worker
