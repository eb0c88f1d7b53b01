import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast probe`, with which a container checks its backend.
@Suite(.timeLimit(.minutes(60))) struct ProbeCommandTests {
  @Test func `the exit status tells whether a backend is healthy, ill or gone`() async throws {
    let scratch = try Scratch()
    let process = try CommandProcess.start(
      ["serve", "--port", "0", "--json", "--data", scratch("data")])
    let first = try [String: Any].reading(await LineReader(process.lines).next())
    let url = try #require(first["url"] as? String)
    let healthy = try await CommandProcess.run("probe", "--url", url + "/healthz")
    #expect(
      healthy == CommandProcess.Outcome(status: 0, output: [#"{"status":"ok"}"#], errors: []))
    let other = try await CommandProcess.run("probe", "--json", "--url", url + "/nowhere")
    #expect(other.status == 1)
    #expect(try [String: Any].reading(other.output.first)["status"] as? Int == 404)
    #expect(other.errors.first?.contains("answered with status 404") == true)
    process.signal(SIGKILL)
    _ = await process.exit()
    #expect(try await CommandProcess.run("probe", "--url", url + "/healthz").status == 6)
  }

  @Test func `a backend that does not answer in time is gone`() async throws {
    let process = try LabProcess([
      "python3", "-c",
      """
      import socket
      server = socket.create_server(("127.0.0.1", 0))
      print(server.getsockname()[1], flush=True)
      input()
      """,
    ])
    let port = await LineReader(process.lines).next()
    let outcome = try await CommandProcess.run(
      "probe", "--url", "http://127.0.0.1:\(port)/healthz", "--timeout", "200ms")
    #expect(outcome.status == 6)
    process.endInput()
  }

  @Test(arguments: ["healthz", "ftp://127.0.0.1/healthz", "http://192.0.2.1/healthz"])
  func `an invalid URL is a usage error`(url: String) async throws {
    #expect(try await CommandProcess.run("probe", "--url", url).status == 2)
  }
}
