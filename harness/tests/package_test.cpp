// Which package installed a file: by dpkg's own programs over a small root of its own, and by the files that pip keeps.
#include "gate/package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// `printf library | sha256sum`, md5sum, and the former in base64 for URLs.
const std::string kContent = "library";
const std::string kSha256 = "b718f1354f7247312eca086d9a024afe5fa717ddea5adeddd6f12bcf945b2e8c";
const std::string kMd5 = "d521f765a49c72507257a2620612ee96";
const std::string kRecorded = "txjxNU9yRzEuyghtmgJK_l-nF93qWt7d1vErz5RbLow";
const std::string kArchive = "4f7e4561dbfa9286c671c91350204fbda7afad675500e59cd4a56f84604844f8";

class Packages : public ::testing::Test {
 protected:
  // libx1 1:2-3, which installed /lib/libx.so; /lib is a link into /usr. Apt's lists have its checksum.
  void install_deb() const {
    fs::create_directories(root / "usr/lib");
    fs::create_directory_symlink("usr/lib", root / "lib");
    write_text(root / "usr/lib/libx.so", kContent);
    write_text(root / "var/lib/dpkg/status",
               "Package: libx1\nStatus: install ok installed\nMaintainer: x <x@example.org>\nArchitecture: all\n"
               "Version: 1:2-3\nDescription: x\n\n");
    write_text(root / "var/lib/dpkg/info/format", "1\n");
    write_text(root / "var/lib/dpkg/info/libx1.list", "/.\n/lib\n/lib/libx.so\n");
    write_text(root / "var/lib/dpkg/info/libx1.md5sums", kMd5 + "  lib/libx.so\n");
    fs::create_directories(root / "var/lib/dpkg/updates");
  }
  void list_in_apt(const std::string& version) const {
    write_text(root / "etc/apt/sources.list", "deb [trusted=yes] http://example.invalid/debian stable main\n");
    const fs::path lists = root / "var/lib/apt/lists";
    fs::create_directories(lists / "partial");
    fs::create_directories(root / "var/cache/apt");
    write_text(lists / "example.invalid_debian_dists_stable_Release",
               "Origin: x\nSuite: stable\nCodename: stable\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n"
               "Architectures: all amd64\nComponents: main\n");
    write_text(lists / "example.invalid_debian_dists_stable_main_binary-amd64_Packages",
               "Package: libx1\nVersion: " + version +
                   "\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\nFilename: x.deb\nSize: 3\n"
                   "SHA256: " +
                   kArchive + "\n\n");
  }
  // In `site`, a wheel whose RECORD has `path`.
  void install_wheel(const fs::path& site, const std::string& path, const std::string& checksum) const {
    const fs::path wheel = site / "some_library-3.2.dist-info";
    write_text(wheel / "RECORD", "some_library/other.py,sha256=abc,3\nstray\n,,\n" + path + ",sha256=" + checksum +
                                     ",7\nsome_library-3.2.dist-info/RECORD,,\n");
    write_text(site / path, kContent);
  }
  Package package_of(const std::string& file) const { return packages_of({root / file}, root).at(0); }

  Scratch scratch;
  const fs::path& root = scratch.path;
};

TEST_F(Packages, AFileIsHashed) {
  write_text(root / "a b", kContent);
  EXPECT_EQ(sha256_of(root / "a b"), kSha256);
  EXPECT_EQ(sha256_of(root / "nowhere"), "unknown");
  EXPECT_EQ(sha256_of(root), "unknown");
}

TEST_F(Packages, ADebIsToldByNameVersionAndTheChecksumOfAptsLists) {
  install_deb();
  list_in_apt("1:2-3");
  const Package package = package_of("usr/lib/libx.so");
  EXPECT_EQ(package.name, "deb libx1 1:2-3");
  EXPECT_EQ(package.sha256, kArchive);
}

TEST_F(Packages, AVersionThatAptNoLongerListsHasNoChecksum) {
  install_deb();
  list_in_apt("1:2-4");
  const Package package = package_of("usr/lib/libx.so");
  EXPECT_EQ(package.name, "deb libx1 1:2-3");
  EXPECT_EQ(package.sha256, "unknown");
}

TEST_F(Packages, AFileThatIsNotAsItWasInstalledIsOfNoPackage) {
  install_deb();
  write_text(root / "usr/lib/libx.so", kContent + "!");
  EXPECT_EQ(package_of("usr/lib/libx.so").name, "unknown");
}

TEST_F(Packages, AFileThatSeveralPackagesClaimOrNoneIsOfNone) {
  install_deb();
  write_text(root / "usr/lib/libfree.so", kContent);
  EXPECT_EQ(package_of("usr/lib/libfree.so").name, "unknown");
  EXPECT_EQ(package_of("usr/lib/lib?.so").name, "unknown") << "no pattern";
  const std::string status = content_of(root / "var/lib/dpkg/status");
  std::string second = status;
  second.replace(second.find("libx1"), 5, "libx2");
  write_text(root / "var/lib/dpkg/status", status + second);
  write_text(root / "var/lib/dpkg/info/libx2.list", "/.\n/lib\n/lib/libx.so\n");
  EXPECT_EQ(package_of("usr/lib/libx.so").name, "unknown");
}

TEST_F(Packages, AWheelIsToldByItsRecordWhereverItPutTheFile) {
  install_wheel(root / "venv/lib/python3.11/site-packages", "../../libx.so", kRecorded);
  EXPECT_EQ(package_of("venv/lib/libx.so").name, "wheel some_library 3.2");
  EXPECT_EQ(package_of("venv/lib/libx.so").sha256, "unknown") << "pip kept no address";
  install_wheel(root / "target", "nvidia/x/lib/liby.so.1", kRecorded);
  EXPECT_EQ(package_of("target/nvidia/x/lib/liby.so.1").name, "wheel some_library 3.2");
}

TEST_F(Packages, AWheelFromAnAddressHasItsChecksum) {
  const fs::path site = root / "site";
  install_wheel(site, "lib/libx.so", kRecorded);
  const fs::path told = site / "some_library-3.2.dist-info" / "direct_url.json";
  write_text(told, R"({"url": "file:///x.whl", "archive_info": {"hashes": {"sha256": ")" + kArchive + R"("}}})");
  EXPECT_EQ(package_of("site/lib/libx.so").sha256, kArchive);
  for (const char* damaged : {"", "{", "[]", R"({"archive_info": 3})", R"({"archive_info": {"hashes": {"sha256": 7}}})",
                              R"({"archive_info": {"hashes": {"sha256": "no digits"}}})"}) {
    write_text(told, damaged);
    EXPECT_EQ(package_of("site/lib/libx.so").sha256, "unknown") << damaged;
  }
}

TEST_F(Packages, AFileThatIsNotAsItsWheelHasItIsOfNone) {
  for (const std::string& checksum : {std::string("AAAA"), std::string("***"), std::string(), kRecorded + "A"}) {
    install_wheel(root / "site", "lib/libx.so", checksum);
    EXPECT_EQ(package_of("site/lib/libx.so").name, "unknown") << checksum;
  }
  install_wheel(root / "site", "lib/libx.so", kRecorded);
  EXPECT_NE(package_of("site/lib/libx.so").name, "unknown");
  write_text(root / "site/lib/libx.so", "another");
  EXPECT_EQ(package_of("site/lib/libx.so").name, "unknown");
}

}  // namespace
}  // namespace assay
