#include "scsi/lun_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/wire_int.h"
#include "wire/roce/header_at.h"
#include "wire/scsi/data.h"

namespace paravane::scsi {

Result<LunList> parse_lun_list(std::span<const std::byte> bytes) {
  using wire::scsi::LunListHeader;
  if (bytes.size() < sizeof(LunListHeader))
    return fail(Errc::kIo,
                fmt::format("the answer to REPORT LUNS has {} bytes, and must have {} at least",
                            bytes.size(), sizeof(LunListHeader)));
  const std::uint32_t said = wire::roce::header_at<LunListHeader>(bytes).bytes.get();
  if (said % sizeof(Be64) != 0)
    return fail(Errc::kIo, fmt::format("the answer to REPORT LUNS has a list of {} bytes, and each "
                                       "address has 8",
                                       said));
  std::span<const std::byte> rest = bytes.subspan(sizeof(LunListHeader));
  LunList list{.is_cut = said > rest.size()};
  rest = rest.first(std::min<std::size_t>(said, rest.size()));
  std::map<std::uint32_t, Lun> taken;
  for (; rest.size() >= sizeof(Be64); rest = rest.subspan(sizeof(Be64))) {
    const Lun lun{.address = wire::roce::header_at<Be64>(rest).get()};
    const auto number = lun.number();
    if (!number || taken.contains(*number) || taken.size() == LunList::kMost) {
      ++list.others;
    } else {
      taken.emplace(*number, lun);
    }
  }
  for (const auto& [number, lun] : taken) list.luns.push_back(lun);
  return list;
}

}  // namespace paravane::scsi
