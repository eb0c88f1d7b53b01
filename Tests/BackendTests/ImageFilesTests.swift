import Dispatch
import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests of the files of images.
@Suite struct ImageFilesTests {
  private static let dawn = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

  private static func id(_ number: UInt64) -> MessageID { UUID128(high: 7, low: number) }

  private static func image(_ number: UInt64, size: Int = 10) -> StoredImage {
    StoredImage(
      id: id(number), shop: BackendRig.shop, user: "ann", type: .gif, size: size, createdAt: dawn)
  }

  private static func write(
    _ name: String, in scratch: Scratch, _ content: [UInt8] = Array(0..<10)
  ) throws {
    try FileManager.default.createDirectory(
      atPath: scratch("images"), withIntermediateDirectories: true)
    try scratch.write(content, to: "images/\(name)")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)],
      ofItemAtPath: scratch("images/\(name)"))
  }

  @Test(arguments: [
    (Duration.seconds(-5), false), (.seconds(3_600) - .nanoseconds(1), false),
    (.seconds(3_600), true), (.seconds(3_600) + .nanoseconds(1), true),
  ])
  func `a file of no image is removed an hour after its last change`(
    _ age: Duration, _ isRemoved: Bool
  ) async throws {
    let scratch = try Scratch()
    let files = ImageFiles(in: scratch.path)
    let log = MemoryMessageLog()
    #expect(try await log.addImage(Self.image(1), atMost: 16))
    let (known, unknown) = ("\(Self.id(1))", "\(Self.id(2))")
    for name in [known, unknown, "odd"] { try Self.write(name, in: scratch) }
    let names = files.names
    #expect(names == [known, unknown, "odd"])
    let rest = try await files.remove(
      names + ["gone"], unlessKnownTo: log, at: Self.dawn.advanced(by: age))
    #expect(rest == (isRemoved ? [] : [unknown, "odd"]))
    #expect(files.names == (isRemoved ? [known] : names))
  }

  @Test(arguments: [(9, false), (10, true), (11, false)])
  func `a file has the length of its image`(_ size: Int, _ isOpened: Bool) throws {
    let scratch = try Scratch()
    try Self.write("\(Self.id(1))", in: scratch)
    let files = ImageFiles(in: scratch.path)
    for part in [0..<0, 2..<5] {
      let opened = Result { () throws(StoreFailure) in
        try files.open(Self.image(1, size: size), part) != nil
      }
      if case .failure(.corrupt) = opened { #expect(!isOpened) } else { #expect(isOpened) }
    }
    #expect(try files.open(Self.image(2), 0..<1) == nil)
  }

  @Test(arguments: [["mkdir"], ["mkfifo"], ["ln", "-s", "/dev/zero"]])
  func `what is not a file is not opened, and blocks nobody`(_ command: [String]) async throws {
    let scratch = try Scratch()
    try FileManager.default.createDirectory(
      atPath: scratch("images"), withIntermediateDirectories: true)
    try await Shell.run(command + [scratch("images/\(Self.id(1))")])
    #expect(throws: StoreFailure.self) {
      _ = try ImageFiles(in: scratch.path).open(Self.image(1), 0..<10)
    }
  }

  @Test func `an image that cannot be removed is kept for later, and the others are removed`()
    async throws
  {
    let scratch = try Scratch()
    let files = ImageFiles(in: scratch.path)
    let log = MemoryMessageLog()
    for number in 1...3 as ClosedRange<UInt64> {
      #expect(try await log.addImage(Self.image(number), atMost: 16))
      try await log.deleteImage(Self.id(number))
    }
    try Self.write("\(Self.id(2))", in: scratch)
    try FileManager.default.createDirectory(
      atPath: scratch("images/\(Self.id(1))"), withIntermediateDirectories: true)
    await #expect(throws: StoreFailure.self) { try await files.removeDeleted(of: log) }
    #expect(try await log.deletedImages() == [Self.id(1)])
    #expect(files.names == ["\(Self.id(1))"])
    try FileManager.default.removeItem(atPath: scratch("images/\(Self.id(1))"))
    try await files.removeDeleted(of: log)
    #expect(try await log.deletedImages() == [])
  }

  @Test(.timeLimit(.minutes(60))) func `work with files does not block the shared threads`() async {
    let queue = FileQueue(label: "test")
    let gate = DispatchSemaphore(value: 0)
    let count = ProcessInfo.processInfo.activeProcessorCount * 2
    let blocked = (0..<count).map { _ in
      Task.detached(executorPreference: queue) { Self.wait(for: gate) }
    }
    await withTaskGroup { group in
      for _ in 0..<count { group.addTask { await Task.yield() } }
    }
    for _ in blocked { gate.signal() }
    for task in blocked { await task.value }
  }

  private static func wait(for gate: DispatchSemaphore) { gate.wait() }
}
