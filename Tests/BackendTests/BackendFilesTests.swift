import Foundation
import HoldfastCore
import HoldfastMessageServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

struct BackendFilesTests {
  private static let list = [
    Membership(shop: BackendRig.shop, user: "ann"),
    Membership(shop: BackendRig.other, user: "b\"ob"),
  ]

  @Test func `reads back the written removals, and an empty list if the file is missing`() throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    let file = RemovalsFile(directory: directory)
    #expect(try file.read() == [])
    try file.write(Self.list)
    #expect(try file.read() == Self.list)
    try file.write([])
    #expect(try file.read() == [])
    #expect(try scratch.mode(of: "data/removed.json") == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["removed.json"])
  }

  @Test(arguments: [
    "{}", "[]", #"{"members":[]}"#, #"{"removed":[],"removed":[]}"#, #"{"removed":[],"note":""}"#,
    #"{"removed":[{"shop":"bakery"}]}"#, #"{"removed":[{"shop":"ba kery","user":"ann"}]}"#,
    #"{"removed":[{"shop":"bakery","user":"ann","shop":"cellar"}]}"#,
    #"{"removed":[{"shop":"bakery","users":"ann"}]}"#,
  ])
  func `rejects a malformed list that could readmit a removed member`(text: String) throws {
    let scratch = try Scratch()
    try scratch.write(text.utf8, to: "removed.json")
    #expect(throws: BackendError.self) { try RemovalsFile(directory: scratch.path).read() }
  }

  @Test(arguments: [UInt64](1...4))
  func `reports a damaged list as a file error and never crashes`(seed: UInt64) throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    let file = PrivateFile(directory: directory, name: "removed.json")
    let removals = RemovalsFile(directory: directory)
    try removals.write(Self.list)
    let whole = try #require(try file.read())
    var generator = RandomSource(seed: seed)
    for _ in 0..<50 {
      var damaged = whole
      for _ in 0...Int.random(in: 0..<3, using: &generator) {
        let index = Int.random(in: 0..<damaged.count, using: &generator)
        damaged[index] = UInt8.random(in: 0 ... .max, using: &generator)
      }
      if generator.unit() < 0.3 { damaged.removeLast(Int.random(in: 1..<9, using: &generator)) }
      try file.replace(with: damaged)
      do throws(BackendError) {
        _ = try removals.read()
      } catch {
        guard case .file(file.path, _) = error else {
          Issue.record("another error: \(error)")
          return
        }
      }
    }
  }

  @Test(arguments: [(1 << 20, true), ((1 << 20) + 1, false)])
  func `reads a file of a mebibyte and no more`(count: Int, isRead: Bool) throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    let file = PrivateFile(directory: directory, name: "large")
    let content = [UInt8](repeating: 7, count: count)
    try file.replace(with: content)
    #expect((try? file.read()) == (isRead ? content : nil))
  }

  @Test(arguments: [(4_095, true), (4_096, true), (4_097, false)])
  func `reads a secret of 4,096 bytes and no more`(count: Int, isRead: Bool) throws {
    let scratch = try Scratch()
    let file = PrivateFile(secret: scratch("secret"))
    let content = [UInt8](repeating: 7, count: count)
    try file.replace(with: content)
    #expect((try? file.readExisting(isSecret: true)) == (isRead ? content : nil))
    #expect((try? file.readOrCreate([1])) == (isRead ? content : nil))
  }

  @Test func `a secret is refused if others can read it, and if it is missing`() throws {
    let scratch = try Scratch()
    let file = PrivateFile(secret: scratch("secret"))
    #expect(try file.read(isSecret: true) == nil)
    #expect(throws: BackendError.file(path: file.path, detail: "No such file or directory")) {
      try file.readExisting(isSecret: true)
    }
    try file.replace(with: [1])
    unsafe chmod(file.path, 0o640)
    #expect(throws: BackendError.openToOthers(path: file.path)) {
      try file.readExisting(isSecret: true)
    }
    #expect(try file.readExisting() == [1])
  }

  @Test(arguments: [("/data/key", "key"), ("/key", "key"), ("key", "key"), ("data/", "")])
  func `the name of a file is the end of its path`(path: String, name: String) {
    #expect(PrivateFile(path: path).name == name)
  }

  @Test func `refuses a named pipe in place of a file without blocking`() async throws {
    let scratch = try Scratch()
    try await Shell.run(["mkfifo", "-m", "600", scratch("removed.json")])
    let file = PrivateFile(directory: scratch.path, name: "removed.json")
    #expect(throws: BackendError.file(path: file.path, detail: "is not a regular file")) {
      try file.read()
    }
  }

  @Test func `the first of two writers creates the file`() throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    let file = PrivateFile(directory: directory, name: "secret")
    #expect(try file.readOrCreate([1]) == [1])
    #expect(try file.readOrCreate([2]) == [1])
  }

  @Test func `the error names the refused system call`() throws {
    let file = PrivateFile(directory: "/proc/nowhere", name: "secret")
    let error = #expect(throws: BackendError.self) { try file.readOrCreate([1]) }
    #expect(error?.description.hasPrefix("/proc/nowhere/secret: cannot create") == true)
  }

  @Test(arguments: [
    ("127.0.0.1", ["127.0.0.1"], false, "http://127.0.0.1:80"),
    ("::1", ["::1"], true, "https://[::1]:80"),
    ("0.0.0.0", ["0.0.0.0"], false, "http://127.0.0.1:80"),
    ("0", ["0.0.0.0"], false, "http://127.0.0.1:80"),
    ("::", ["::"], false, "http://[::1]:80"),
    ("localhost", ["127.0.0.1", "::1"], true, "https://localhost:80"),
  ])
  func `reports a URL that a client can connect to`(
    host: String, bound: [String], isSecure: Bool, url: String
  ) {
    #expect(Self.address(host, bound, isSecure).url == url)
  }

  @Test(arguments: [
    ("127.0.0.1", ["127.0.0.1"], false, "http://127.0.0.1:80", nil, false),
    ("127.1", ["127.0.0.1"], false, "http://127.1:80", nil, false),
    ("LocalHost", ["127.0.0.1", "::1"], false, "http://LocalHost:80", nil, false),
    ("::1", ["::1"], false, "http://[::1]:80", nil, false),
    ("0:0::1", ["::1"], false, "http://[0:0::1]:80", nil, false),
    (
      "0.0.0.0", ["0.0.0.0"], false, "http://0.0.0.0:80", "every IPv4 address of this machine", true
    ),
    (
      "0.0.0.0", ["0.0.0.0"], true, "https://0.0.0.0:80", "every IPv4 address of this machine",
      false
    ),
    ("0", ["0.0.0.0"], false, "http://0.0.0.0:80", "every IPv4 address of this machine", true),
    ("::", ["::"], false, "http://[::]:80", "every address of this machine", true),
    ("0::0", ["::"], false, "http://[::]:80", "every address of this machine", true),
    ("192.0.2.1", ["192.0.2.1"], false, "http://192.0.2.1:80", nil, true),
    ("here", ["127.0.0.1", "192.0.2.1"], false, "http://here:80", nil, true),
    ("127.example", ["192.0.2.1"], false, "http://127.example:80", nil, true),
  ])
  func `reports the listening addresses and whether traffic is exposed`(
    host: String, bound: [String], isSecure: Bool, listensOn: String, reach: String?,
    isExposed: Bool
  ) {
    let address = Self.address(host, bound, isSecure)
    #expect(address.listensOn == listensOn)
    #expect(address.reach == reach)
    #expect(address.isExposed == isExposed)
  }

  private static func address(_ host: String, _ bound: [String], _ isSecure: Bool) -> BoundAddress {
    BoundAddress(
      host: host, addresses: bound.compactMap { NetworkAddress($0) }, port: 80,
      isSecure: isSecure)
  }
}
