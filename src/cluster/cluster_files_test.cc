#include "cluster/cluster_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

// Makes a file and takes it away, again and again, as an etcd does with the next part of its log.
void write_files(const std::filesystem::path& directory, std::string name) {
  const UniqueFd folder(::open(directory.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end) {
    name += 'x';
    if (name.size() > 200) name.resize(1);
    const UniqueFd file(::openat(folder.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
}

TEST(ClusterFiles, AreGoneThoughAnEtcdThatEndsStillWrites) {
  const TempDir dir;
  const settings::ClusterPaths paths(dir.path());
  const std::filesystem::path wal = paths.directory() / "etcd" / "wal";
  for (int round = 0; round < 10; ++round) {  // it is not hit every time
    ASSERT_TRUE(make_cluster_directory(paths));
    std::filesystem::create_directories(wal);
    std::vector<std::jthread> etcd;
    for (const char* name : {"a", "b", "c", "d"}) etcd.emplace_back(write_files, wal, name);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    remove_cluster_directory(paths);
    EXPECT_FALSE(std::filesystem::exists(paths.directory()));
  }
}

TEST(ClusterFiles, AFileThatCannotBeReplacedLeavesNoOther) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "host.pem";
  std::filesystem::create_directory(file);
  EXPECT_FALSE(write_file(file, "a key"));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
}

TEST(ClusterFiles, OfAWriteThatWasKilledNothingStays) {
  const TempDir dir;
  const settings::ClusterPaths paths(dir.path());
  ASSERT_TRUE(make_cluster_directory(paths));
  ASSERT_TRUE(write_file(paths.identity(), "this host's key"));
  ASSERT_TRUE(write_file(paths.authority_key().string() + ".new", "half of the authority's key"));
  remove_incomplete_files(paths);
  EXPECT_FALSE(std::filesystem::exists(paths.authority_key().string() + ".new"));
  EXPECT_EQ(*read_file(paths.identity()), "this host's key");
  EXPECT_TRUE(is_unfinished(paths));
}

}  // namespace
}  // namespace paravane::cluster
