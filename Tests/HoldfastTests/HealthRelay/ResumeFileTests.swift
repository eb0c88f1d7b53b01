import Foundation
import HealthRelay
import Holdfast
import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@Suite struct `A resume token is kept` {
  @Test func `for its owner only, the newest one, until it is taken away`() throws {
    let scratch = try Scratch()
    let file = ResumeFile(in: scratch.path)
    #expect(try file.read() == nil)
    try file.write(Secret("first"))
    try file.write(Secret("second"))
    #expect(try file.read() == Secret("second"))
    #expect(try scratch.mode(of: "resume") == 0o600)
    try file.write(nil)
    try file.write(nil)
    #expect(try file.read() == nil)
  }

  @Test func `one that others can read is refused`() async throws {
    let scratch = try Scratch()
    let file = ResumeFile(in: scratch.path)
    try file.write(Secret("token-of-mine"))
    try await Shell.run(["chmod", "644", file.path])
    do {
      _ = try file.read()
      Issue.record("it was read")
    } catch {
      #expect(!"\(error)".contains("token-of-mine"))
    }
  }

  @Test(arguments: [(1_024, true), (1_025, false)])
  func `a file that is too long for a token is none`(length: Int, isRead: Bool) throws {
    let scratch = try Scratch()
    let file = ResumeFile(in: scratch.path)
    // `length` includes the newline.
    let token = Secret(String(repeating: "x", count: length - 1))
    try file.write(token)
    #expect((try? file.read()) == (isRead ? token : nil))
  }

  @Test func `what stands where a draft could be expected does not keep it from being written`()
    throws
  {
    let scratch = try Scratch()
    let file = ResumeFile(in: scratch.path)
    let expected = "\(file.path).\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(
      atPath: expected, withIntermediateDirectories: false)
    try file.write(Secret("token"))
    #expect(try file.read() == Secret("token"))
  }

  @Test func `a directory that cannot be made is told`() throws {
    let file = ResumeFile(in: "/proc/nonexistent")
    #expect(throws: StoreFailure.self) { try file.write(Secret("x")) }
  }
}
