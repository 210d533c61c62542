// The library as it is built: what it exports, and that a program can load it.

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "umad_library/fake_door.h"
#include "umad_library/rdma_core_library.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {
namespace {

using Symbols = std::set<std::pair<std::string, std::string>>;  // name, version

// The dynamic symbols that an ELF file of 64 bits defines.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    if (bytes_.size() >= sizeof(Elf64_Ehdr)) find_sections();
  }
  Symbols exported() const {
    const std::map<unsigned, std::string> versions = versions_by_index();
    Symbols symbols;
    const std::size_t count = symbols_.sh_size / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      const auto symbol = at<Elf64_Sym>(symbols_.sh_offset + i * sizeof(Elf64_Sym));
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      const auto index = at<Elf64_Half>(version_of_.sh_offset + i * sizeof(Elf64_Half));
      const auto version = versions.find(index & 0x7FFFU);
      symbols.emplace(text(symbol.st_name), version != versions.end() ? version->second : "none");
    }
    return symbols;
  }
  // DT_SONAME or DT_NEEDED.
  std::vector<std::string> names(Elf64_Sxword tag) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < dynamic_.sh_size / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(dynamic_.sh_offset + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == tag) found.push_back(text(entry.d_un.d_val));
    }
    return found;
  }

 private:
  template <typename T>
  T at(std::size_t offset) const {
    T value{};
    if (offset + sizeof value <= bytes_.size()) {
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    }
    return value;
  }
  std::string text(std::size_t offset) const { return bytes_.data() + strings_.sh_offset + offset; }
  void find_sections() {
    const auto head = at<Elf64_Ehdr>(0);
    const auto section = [&](std::size_t i) {
      return at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr));
    };
    for (std::size_t i = 0; i < head.e_shnum; ++i) {
      const Elf64_Shdr each = section(i);
      if (each.sh_type == SHT_DYNSYM) {
        symbols_ = each;
        strings_ = section(each.sh_link);
      }
      if (each.sh_type == SHT_GNU_versym) version_of_ = each;
      if (each.sh_type == SHT_GNU_verdef) versions_ = each;
      if (each.sh_type == SHT_DYNAMIC) dynamic_ = each;
    }
  }
  std::map<unsigned, std::string> versions_by_index() const {
    std::map<unsigned, std::string> versions;
    std::size_t offset = versions_.sh_offset;
    for (std::size_t i = 0; i < versions_.sh_info; ++i) {
      const auto entry = at<Elf64_Verdef>(offset);
      versions[entry.vd_ndx] = text(at<Elf64_Verdaux>(offset + entry.vd_aux).vda_name);
      offset += entry.vd_next;
    }
    return versions;
  }

  std::string bytes_;
  Elf64_Shdr symbols_{};
  Elf64_Shdr strings_{};
  Elf64_Shdr version_of_{};
  Elf64_Shdr versions_{};
  Elf64_Shdr dynamic_{};
};

// The facts of the ABI, not read from our own version script.
const std::map<std::string, std::vector<std::string>> kAbi = {
    {"IBUMAD_1.0",
     {"umad_init",
      "umad_done",
      "umad_get_cas_names",
      "umad_get_ca_portguids",
      "umad_open_port",
      "umad_get_ca",
      "umad_release_ca",
      "umad_get_port",
      "umad_release_port",
      "umad_close_port",
      "umad_get_mad",
      "umad_get_issm_path",
      "umad_size",
      "umad_set_grh",
      "umad_set_pkey",
      "umad_get_pkey",
      "umad_set_addr",
      "umad_set_addr_net",
      "umad_send",
      "umad_recv",
      "umad_poll",
      "umad_get_fd",
      "umad_register",
      "umad_register2",
      "umad_register_oui",
      "umad_unregister",
      "umad_status",
      "umad_get_mad_addr",
      "umad_debug",
      "umad_addr_dump",
      "umad_dump",
      "umad_class_str",
      "umad_method_str",
      "umad_common_mad_status_str",
      "umad_sa_mad_status_str",
      "umad_attribute_str"}},
    {"IBUMAD_1.1", {"umad_free_ca_device_list", "umad_get_ca_device_list"}},
    {"IBUMAD_1.2", {"umad_sort_ca_device_list"}},
    {"IBUMAD_1.3", {"umad_open_smi_port"}},
    {"IBUMAD_1.4", {"umad_get_smi_gsi_pairs", "umad_get_smi_gsi_pair_by_ca_name"}},
};

TEST(LibibumadTest, ExportsTheFunctionsOfTheAbiAndNothingElse) {
  Symbols wanted;
  for (const auto& [version, names] : kAbi) {
    for (const std::string& name : names) wanted.emplace(name, version);
  }
  ASSERT_EQ(wanted.size(), 42U);
  EXPECT_EQ(ElfFile(PARAVANE_LIBIBUMAD).exported(), wanted);
}

TEST(LibibumadTest, ExportsAllThatTheInstalledLibraryDoes) {
  void* installed = rdma_core_library();
  if (installed == nullptr) GTEST_SKIP() << "rdma-core's libibumad is not installed";
  Dl_info info{};
  ASSERT_NE(::dladdr(::dlsym(installed, "umad_init"), &info), 0);
  const Symbols theirs = ElfFile(info.dli_fname).exported();
  EXPECT_GE(theirs.size(), 39U);
  const Symbols ours = ElfFile(PARAVANE_LIBIBUMAD).exported();
  for (const auto& symbol : theirs) {
    EXPECT_TRUE(ours.contains(symbol)) << symbol.first << "@" << symbol.second;
  }
}

TEST(LibibumadTest, IsLean) {
  const ElfFile file(PARAVANE_LIBIBUMAD);
  EXPECT_THAT(file.names(DT_SONAME), ::testing::ElementsAre("libibumad.so.3"));
  for (const std::string& needed : file.names(DT_NEEDED)) {
    EXPECT_THAT(needed,
                ::testing::MatchesRegex(
                    "lib(stdc\\+\\+|c|m|gcc_s|gcov|[atu]+b?san|pthread|rt|dl)\\.so\\.[0-9]+"))
        << "programs of C load it";
  }
}

TEST(LibibumadTest, AProgramLoadsItAndOpensAPort) {
  rdma_core_library();
  const FakeDoor door;
  void* library = ::dlopen(PARAVANE_LIBIBUMAD, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  auto* open = reinterpret_cast<decltype(&umad_open_port)>(
      ::dlvsym(library, "umad_open_port", "IBUMAD_1.0"));
  auto* close = reinterpret_cast<decltype(&umad_close_port)>(
      ::dlvsym(library, "umad_close_port", "IBUMAD_1.0"));
  ASSERT_NE(open, nullptr);
  const int fd = open(nullptr, 0);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(close(fd), 0);
}

TEST(LibibumadTest, StructsHaveTheLayoutThatProgramsWereCompiledWith) {
  EXPECT_EQ(sizeof(ib_user_mad), 64U);
  EXPECT_EQ(offsetof(ib_user_mad, addr), 20U);
  EXPECT_EQ(sizeof(umad_port_t), 112U);
  EXPECT_EQ(offsetof(umad_port_t, pkeys), 80U);
  EXPECT_EQ(offsetof(umad_port_t, link_layer), 88U);
  EXPECT_EQ(sizeof(umad_ca_t), 208U);
  EXPECT_EQ(offsetof(umad_ca_t, node_guid), 112U);
  EXPECT_EQ(offsetof(umad_ca_t, ports), 128U);
  EXPECT_EQ(sizeof(umad_device_node), 16U);
  EXPECT_EQ(sizeof(umad_reg_attr), 32U);
}

}  // namespace
}  // namespace paravane::umad_library
