// ClusterPaths gives the paths of a host's cluster files. They are in the folder cluster/ of the
// state directory, which only the engine's user can access (files have mode 0600, the folder 0700).

#pragma once

#include <filesystem>

namespace paravane::settings {

class ClusterPaths {
 public:
  explicit ClusterPaths(const std::filesystem::path& state_dir)
      : directory_(state_dir / "cluster") {}

  const std::filesystem::path& directory() const { return directory_; }
  // The cluster that this host belongs to, and how to reach etcd.
  std::filesystem::path membership() const { return directory_ / "membership.json"; }
  // Checksums of the files that are written once (cluster/file_sums.h).
  std::filesystem::path sums() const { return directory_ / "sums"; }
  // This file exists while the others are being created or deleted. Without a membership file they
  // are then incomplete and are not used.
  std::filesystem::path unfinished() const { return directory_ / "unfinished"; }
  // This host's key and certificate, in one file so that both change at once.
  std::filesystem::path identity() const { return directory_ / "host.pem"; }
  // The certificate alone, for an etcd that should accept this host only.
  std::filesystem::path own_certificate() const { return directory_ / "own.pem"; }
  std::filesystem::path authority() const { return directory_ / "authority.pem"; }
  // The CA certificate of an etcd that the operator provides.
  std::filesystem::path etcd_authority() const { return directory_ / "etcd-authority.pem"; }
  // Only on the authority's host.
  std::filesystem::path authority_key() const { return directory_ / "authority.key"; }
  std::filesystem::path book() const { return directory_ / "authority.json"; }
  // The newest known proof, signed by the authority, that another host was promoted.
  std::filesystem::path succession() const { return directory_ / "succession.json"; }
  std::filesystem::path etcd_data() const { return directory_ / "etcd"; }
  // The inventory as this host last knew it.
  std::filesystem::path inventory() const { return directory_ / "inventory.json"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace paravane::settings
