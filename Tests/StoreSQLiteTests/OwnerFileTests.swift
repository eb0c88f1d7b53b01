import Foundation
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

/// The distinct values that concurrent calls returned.
private final class Found: Sendable {
  private let values = Mutex<Set<[UInt8]?>>([])

  var different: Int { values.withLock(\.count) }
  var all: [[UInt8]] { values.withLock { $0.compactMap(\.self) } }

  func add(_ value: [UInt8]?) { _ = values.withLock { $0.insert(value) } }
}
