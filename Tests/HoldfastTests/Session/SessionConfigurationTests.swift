import Foundation
import Holdfast
import HoldfastTestKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import Testing

/// Tests of the values in the configuration of a session, and of the store that it opens.
@Suite struct SessionConfigurationTests {
  private static func configuration(
    _ url: String = "ws://127.0.0.1:1/session",
    storage: StorageLocation<any ClientSessionStore> = .memory
  ) -> SessionConfiguration {
    let clock = TestClock()
    var configuration = SessionConfiguration(url, storage: storage) { "key" }
    configuration.ports = DevicePorts(
      network: FakeNetwork(clock: clock), reachability: AlwaysReachable(), clock: clock)
    return configuration
  }

  /// Returns the failure to open a session; `nil` if it was opened, and then closed.
  private static func failure(_ configuration: SessionConfiguration) async -> LinkFailure? {
    do throws(LinkFailure) {
      try await HeldSession(configuration).close()
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [(999, false), (1_000, true), (1_001, true)])
  func `the answer time-out is at least 1 s`(milliseconds: Int, isTaken: Bool) async {
    var configuration = Self.configuration()
    configuration.answerTimeout = .milliseconds(milliseconds)
    let failure: LinkFailure? = isTaken ? nil : .local(detail: "answerTimeout is at least 1 s")
    #expect(await Self.failure(configuration) == failure)
  }

  @Test func `plaintext to another device needs an option`() async throws {
    var configuration = Self.configuration("ws://agent.example/session")
    let detail =
      "ws:// to agent.example would not be encrypted; use wss://, or set allowsPlaintext"
    #expect(await Self.failure(configuration) == .local(detail: detail))
    configuration.allowsPlaintext = true
    #expect(await Self.failure(configuration) == nil)
  }

  @Test func `a URL can be a value of Foundation`() throws {
    let url = try #require(URL(string: "wss://agent.example/session?a=b"))
    let configuration = SessionConfiguration(url, storage: .memory, tokens: .fixed("key"))
    #expect(configuration.url == "wss://agent.example/session?a=b")
  }

  @Test(arguments: [nil, "/nowhere/journal"])
  func `a directory is released when the session ends, and when it cannot begin`(
    journal: String?
  ) async throws {
    let scratch = try Scratch()
    var configuration = Self.configuration(storage: .directory(scratch("phone")))
    configuration.journal = journal
    #expect((await Self.failure(configuration) == nil) == (journal == nil))
    try await HoldfastPlatform.sessionStore(in: scratch("phone")).close()
  }
}
