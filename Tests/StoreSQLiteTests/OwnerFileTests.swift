import Foundation
import HoldfastCore
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastOwnerFiles

@Suite struct OwnerFileTests {
  private func names(_ scratch: Scratch) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path)
  }

  @Test func `a file is replaced atomically, for its owner only, and leaves no draft`() throws {
    let scratch = try Scratch()
    let file = OwnerFile(scratch("kept"), maxBytes: 9, isSecret: true)
    #expect(try file.read() == nil)
    for content: [UInt8] in [[1, 2], [], [3]] {
      try file.replace(with: content)
      #expect(try file.read() == content)
    }
    #expect(try scratch.mode(of: "kept") == 0o600)
    #expect(try names(scratch) == ["kept"])
    try file.remove()
    try file.remove()
    #expect(try names(scratch) == [])
  }

  @Test func `content and directory are synced, and a failure keeps the former content`() throws {
    let scratch = try Scratch()
    let file = OwnerFile(scratch("kept"), maxBytes: 9, isSecret: true)
    var synced = 0
    try file.replace(with: [1]) { descriptor in
      synced += 1
      return fsync(descriptor)
    }
    #expect(synced == 2)
    let failing = OwnerFileError.refused(action: "write", code: EIO)
    #expect(throws: failing) {
      try file.replace(with: [2]) { _ in
        errno = EIO
        return -1
      }
    }
    #expect(try file.read() == [1])
    #expect(try names(scratch) == ["kept"])
  }

  @Test func `only a directory that was created last is prepared, and only once`() throws {
    let scratch = try Scratch()
    var prepared: [String] = []
    for path in ["a/b/c", "a/b/c", "a/b", "a/b/d/"] {
      try OwnerFile.makeDirectory(scratch(path)) { prepared.append($0) }
    }
    #expect(prepared == [scratch("a/b/c"), scratch("a/b/d")])
    #expect(try scratch.mode(of: "a/b/d") == 0o700)
  }

  @Test(arguments: [false, true])
  func `a file loses its protection before it is in place, if the device's lock must not matter`(
    isReadable: Bool
  ) throws {
    let scratch = try Scratch()
    let file = OwnerFile(
      scratch("kept"), maxBytes: 9, isSecret: false, isReadableWhileLocked: isReadable)
    var names: [[String]] = []
    for content: [UInt8] in [[1], [2]] {
      try file.replace(with: content, sync: fsync) { draft in
        names.append([draft, (try? file.read()).map { "\($0)" } ?? "none"])
      }
    }
    #expect(names.map { $0[1] } == (isReadable ? ["none", "[1]"] : []))
    #expect(names.allSatisfy { $0[0].hasPrefix(file.path + ".") })
  }

  /// The meaning of each error number for permissions alone, and with a lock of the device.
  private static let refusals: [(code: Int32, kinds: [FileRules.Refusal])] = [
    (EPERM, [.denied, .locked]), (EACCES, [.denied, .denied]), (EROFS, [.denied, .denied]),
    (ENOTDIR, [.denied, .denied]), (EISDIR, [.denied, .denied]), (ENOSPC, [.full, .full]),
    (EDQUOT, [.full, .full]), (EFBIG, [.full, .full]), (EIO, [.other, .other]),
    (EMFILE, [.other, .other]), (0, [.other, .other]),
  ]

  @Test(arguments: refusals)
  func `before the first unlock a protected file is locked, and elsewhere it is denied`(
    code: Int32, kinds: [FileRules.Refusal]
  ) {
    for (rules, expected) in zip([FileRules.permissions, .deviceLock], kinds) {
      #expect(rules.refusal(code) == expected)
      let failures = [
        StoreFailure("open", "/a/b", code: code, under: rules),
        StoreFailure(.refused(action: "open", code: code), at: "/a/b", under: rules),
        StoreFailure(.noDirectory("/a/b", code: code), at: "/a/b/c", under: rules),
      ]
      for failure in failures {
        #expect(FailureKind(failure) == FailureKind(expected))
        #expect("\(failure)".contains("/a/b: "))
      }
    }
    #expect(FileRules.current == .permissions)
  }

  @Test func `concurrent creators of a file all receive the same content`() throws {
    let scratch = try Scratch()
    for round in 0..<20 {
      let file = OwnerFile(scratch("\(round)"), maxBytes: 9, isSecret: true)
      let found = Found()
      DispatchQueue.concurrentPerform(iterations: 8) { number in
        found.add(try? file.readOrCreate([UInt8(number)]))
      }
      #expect(found.different == 1)
      #expect(try file.read().map { [$0] } == found.all)
    }
  }

  @Test(arguments: [(8, true), (9, true), (10, false)])
  func `a file is read up to its size limit`(count: Int, isRead: Bool) throws {
    let scratch = try Scratch()
    let file = OwnerFile(scratch("kept"), maxBytes: 9, isSecret: true)
    let content = [UInt8](repeating: 7, count: count)
    try file.replace(with: content)
    #expect((try? file.read()) == (isRead ? content : nil))
  }
}

extension FailureKind {
  fileprivate init(_ refusal: FileRules.Refusal) {
    self =
      switch refusal {
      case .full: .full
      case .locked: .locked
      case .denied: .denied
      case .other: .other
      }
  }
}

/// The distinct values that concurrent calls returned.
private final class Found: Sendable {
  private let values = Mutex<Set<[UInt8]?>>([])

  var different: Int { values.withLock(\.count) }
  var all: [[UInt8]] { values.withLock { $0.compactMap(\.self) } }

  func add(_ value: [UInt8]?) { _ = values.withLock { $0.insert(value) } }
}
