import Foundation
import Holdfast
import HoldfastCore
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastTestKit
import Testing

@Suite struct `A resume token is kept` {
  @Test func `is readable only by its owner, holds the newest token, and can be removed`() throws {
    let scratch = try Scratch()
    let file = PairingStore(in: scratch.path)
    #expect(try file.read() == nil)
    try file.write(Secret("first"))
    try file.write(Secret("second"))
    #expect(try file.read() == Secret("second"))
    #expect(try scratch.mode(of: "resume") == 0o600)
    try file.write(nil)
    try file.write(nil)
    #expect(try file.read() == nil)
  }

  @Test func `a file that others can read is refused`() async throws {
    let scratch = try Scratch()
    let file = PairingStore(in: scratch.path)
    try file.write(Secret("token-of-mine"))
    try await Shell.run(["chmod", "644", scratch("resume")])
    do {
      _ = try file.read()
      Issue.record("it was read")
    } catch {
      #expect(!"\(error)".contains("token-of-mine"))
    }
  }

  @Test(arguments: [(1_024, true), (1_025, false)])
  func `a file that is too long for a token is refused`(length: Int, isRead: Bool) throws {
    let scratch = try Scratch()
    let file = PairingStore(in: scratch.path)
    // `length` includes the newline.
    let token = Secret(String(repeating: "x", count: length - 1))
    try file.write(token)
    #expect((try? file.read()) == (isRead ? token : nil))
  }

  @Test func `an entry with the name of the temporary file does not prevent a write`()
    throws
  {
    let scratch = try Scratch()
    let file = PairingStore(in: scratch.path)
    let expected = "\(scratch("resume")).\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(
      atPath: expected, withIntermediateDirectories: false)
    try file.write(Secret("token"))
    #expect(try file.read() == Secret("token"))
  }

  @Test func `the secret store of the device takes the place of the file`() throws {
    let scratch = try Scratch()
    let (secrets, token) = (MemorySecretStore(), Secret("token"))
    let store = PairingStore(in: scratch.path, ports: DevicePorts(secrets: secrets))
    try store.write(token)
    #expect(try secrets.read(PairingStore.name(in: scratch.path)) == token)
    #expect(try PairingStore(in: scratch.path).read() == nil)
    secrets.setLocked(true)
    #expect(try store.read() == token, "background work needs it")
    try store.write(nil)
    #expect(try store.read() == nil)
  }

  @Test func `pairings of different directories can share a secret store`() throws {
    let ports = DevicePorts(secrets: MemorySecretStore())
    let container = "/var/mobile/Containers/Data/Application"
    let place = "Library/Application Support/Holdfast/relay"
    let store = PairingStore(in: "\(container)/A/\(place)", ports: ports)
    try store.write(Secret("token"))
    #expect(try PairingStore(in: "\(container)/A/Other/relay", ports: ports).read() == nil)
    try PairingStore(in: "\(container)/A/Other/relay", ports: ports).write(nil)
    // An update of the app has moved its container.
    #expect(try PairingStore(in: "\(container)/B/\(place)", ports: ports).read() != nil)
  }

  @Test func `a directory that cannot be created is an error`() throws {
    let file = PairingStore(in: "/proc/nonexistent")
    #expect(throws: StoreFailure.self) { try file.write(Secret("x")) }
  }
}
