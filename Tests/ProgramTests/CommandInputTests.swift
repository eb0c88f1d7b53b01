import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of the error messages for input that a command cannot use.
@Suite(.timeLimit(.minutes(60))) struct CommandInputTests {
  @Test func `an error about a URL from the environment names the variable`() async throws {
    let outcome = try await CommandProcess.run(
      "stream", "--shop", "bakery", environment: ["HOLDFAST_SERVER": "junk"])
    let cause = "$HOLDFAST_SERVER is not a valid URL; it must begin with https:// or http://"
    #expect(outcome == .failure(2, "holdfast stream: \(cause)"))
  }

  @Test(arguments: [("999ms", 2), ("1s", 0), ("1.0", 0), ("1500ms", 2), ("1m", 0)])
  func `a token's lifetime is a number of whole seconds`(ttl: String, status: Int32) async throws {
    let scratch = try Scratch()
    let outcome = try await CommandProcess.run(
      "token", "--user", "ann", "--shops", "bakery", "--create", "--data", scratch("backend"),
      "--ttl", ttl)
    #expect(outcome.status == status)
    let isNamed = outcome.errors.last?.contains("a duration in whole seconds from 1s") == true
    #expect(isNamed == (status == 2))
  }

  @Test func `a host may have the brackets of a URL`() async throws {
    let scratch = try Scratch()
    let process = try CommandProcess.start([
      "serve", "--host", "[::1]", "--port", "0", "--data", scratch("backend"), "--json",
    ])
    let line = await LineReader(process.lines).next()
    process.signal(SIGTERM)
    _ = await process.exit()
    #expect((try [String: Any].reading(line)["url"] as? String)?.hasPrefix("http://[::1]:") == true)
  }

  @Test func `the error for an unpaired phone does not claim an earlier pairing`() async throws {
    let scratch = try Scratch()
    let outcome = try await CommandProcess.run(
      "relay", "assistants", "--server", "http://127.0.0.1:1", "--data", scratch("phone"))
    let remedy = "run `holdfast relay` with this --data directory and pair it"
    let cause = "this phone is not paired, or no longer"
    #expect(outcome == .failure(3, "holdfast relay assistants: \(cause); \(remedy)"))
  }
}
