import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastTestKit
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
  private static func failure(_ configuration: SessionConfiguration) async -> OpenError? {
    do throws(OpenError) {
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
    let failure: OpenError? = isTaken ? nil : .configuration("answerTimeout is at least 1 s")
    #expect(await Self.failure(configuration) == failure)
  }

  @Test func `plaintext to another device needs an option`() async throws {
    var configuration = Self.configuration("ws://agent.example/session")
    let problem =
      "ws:// to agent.example would not be encrypted; use wss://, or set allowsPlaintext in a "
      + "configuration of your own"
    #expect(await Self.failure(configuration) == .configuration(problem))
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
    let failure = await Self.failure(configuration)
    if journal == nil {
      #expect(failure == nil)
    } else if case .journal = failure {
    } else {
      Issue.record("the journal cannot be created: \(String(describing: failure))")
    }
    try await HoldfastPlatform.sessionStore(in: scratch("phone")).close()
  }

  @Test func `a directory that is in use is reported before a journal is created`() async throws {
    let scratch = try Scratch()
    let other = try await HoldfastPlatform.sessionStore(in: scratch("phone"))
    var configuration = Self.configuration(storage: .directory(scratch("phone")))
    configuration.journal = scratch("journal")
    let failure = await Self.failure(configuration)
    guard case .store(.locked) = failure else {
      Issue.record("the store is locked: \(String(describing: failure))")
      return
    }
    #expect(!FileManager.default.fileExists(atPath: scratch("journal")))
    await other.close()
  }
}
