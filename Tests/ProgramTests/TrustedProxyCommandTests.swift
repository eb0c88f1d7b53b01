import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `serve --trusted-proxy`, which distinguishes the clients behind a proxy.
@Suite(.timeLimit(.minutes(60))) struct TrustedProxyCommandTests {
  /// A Python script that attempts to log in with wrong pairs, and prints the statuses.
  ///
  /// The script makes six attempts as one client and one as another.
  private static let script = """
    import sys, urllib.request, urllib.error
    for client in ["192.0.2.1"] * 6 + ["192.0.2.2"]:
      request = urllib.request.Request(
        sys.argv[1] + "/api/direct-login", b"word=nonsense&code=000000",
        {"X-Forwarded-For": client})
      try: print(urllib.request.urlopen(request).status)
      except urllib.error.HTTPError as error: print(error.code)
    """

  @Test(arguments: [
    (["--trusted-proxy", "127.0.0.1/32"], "401"), (["--trusted-proxy", "192.0.2.0/24"], "429"),
    ([], "429"),
  ])
  func `a client is locked out by its own address, not by the proxy's`(
    options: [String], other: String
  ) async throws {
    let scratch = try Scratch()
    let process = try CommandProcess.start(
      ["serve", "--port", "0", "--json", "--data", scratch("backend")] + options)
    let url = try [String: Any].reading(await LineReader(process.lines).next())["url"] as? String
    let outcome = await CommandProcess.outcome(
      of: try LabProcess(["python3", "-c", Self.script, url ?? ""]))
    process.signal(SIGKILL)
    _ = await process.exit()
    #expect(outcome.output == Array(repeating: "401", count: 5) + ["429", other])
  }
}
