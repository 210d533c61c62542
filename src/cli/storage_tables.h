// SRP storage adapters of this host, their targets, paths and LUNs, in the formats of `paravane
// infiniband`, esxcli, esxcfg-mpath and esxcfg-scsidevs. docs/esxcli.md describes where each value
// comes from.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/storage.h"
#include "text/text_records.h"
#include "text/text_table.h"

namespace paravane::cli {

// The output of `infiniband vmhba list` and `infiniband target list`.
text::TextTable vmhba_table(const std::vector<model::Vmhba>& vmhbas);
text::TextTable srp_target_table(const std::vector<model::SrpTargetStatus>& targets);

// "vmhba32-fe80::250:5600:1a2:b301-5254000000770001-naa.6001405...": what tells a path from all
// others for good, of the adapter's port, the target and the LUN.
std::string path_uid(const model::LunPath& path);

// The output of `storage core adapter list`.
text::TextTable storage_adapter_table(const std::vector<model::Vmhba>& vmhbas);
// Records as esxcli prints them: their title is the device's name or the path's UID, which is a
// field, too, where `format` has no titles.
std::vector<text::TextRecord> device_records(const std::vector<model::ScsiDevice>& devices,
                                             text::TableFormat format);
std::vector<text::TextRecord> path_records(const std::vector<model::LunPath>& paths,
                                           const std::vector<model::ScsiDevice>& devices,
                                           text::TableFormat format);
std::vector<text::TextRecord> nmp_device_records(const std::vector<model::ScsiDevice>& devices,
                                                 text::TableFormat format);
std::vector<text::TextRecord> nmp_path_records(const std::vector<model::LunPath>& paths,
                                               const std::vector<model::ScsiDevice>& devices,
                                               text::TableFormat format);

// The outputs of esxcfg-mpath.
std::vector<text::TextRecord> mpath_records(const std::vector<model::LunPath>& paths,
                                            const std::vector<model::ScsiDevice>& devices,
                                            text::TableFormat format);   // -l
std::string mpath_brief(const std::vector<model::ScsiDevice>& devices);  // -b
std::string mpath_compact(const std::vector<model::LunPath>& paths);     // -L
// Those of esxcfg-scsidevs.
std::string scsidevs_adapters(const std::vector<model::Vmhba>& vmhbas);       // -a
std::string scsidevs_list(const std::vector<model::ScsiDevice>& devices);     // -l
std::string scsidevs_compact(const std::vector<model::ScsiDevice>& devices);  // -c
// That of `ibstat -vmhba`.
std::string ibstat_vmhbas(const std::vector<model::Vmhba>& vmhbas);

}  // namespace paravane::cli
