import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Tests of the options of `serve` for operators: the address for metrics, and maximums.
@Suite(.timeLimit(.minutes(60))) struct ServeCeilingTests {
  @Test(arguments: [
    "max-streams", "max-sockets-per-user", "max-phones", "max-phones-per-address", "max-sessions",
    "max-sessions-per-address",
  ])
  func `a maximum is from 1 to 1,000,000`(option: String) async throws {
    for value in ["0", "1000001", "-1", "many"] {
      #expect(
        try await CommandProcess.run("serve", "--\(option)", value)
          == .failure(
            2,
            "holdfast serve: --\(option) cannot be \"\(value)\"; it must be a whole number from 1 to "
              + "1000000"))
    }
    // The next mistake is told, so this one is none.
    for value in ["1", "1000000"] {
      let outcome = try await CommandProcess.run("serve", "--\(option)", value, "--tls-key", "k")
      #expect(outcome.errors.first?.contains("TLS needs a certificate") == true)
    }
  }

  @Test func `an address for metrics is numeric or a path`() async throws {
    #expect(
      try await CommandProcess.run("serve", "--metrics-listen", "localhost:9090")
        == .failure(
          2,
          "holdfast serve: --metrics-listen cannot be \"localhost:9090\"; it must be a numeric "
            + "address and a port, such as 127.0.0.1:9090 or [::1]:9090, or unix: and the path of a "
            + "socket"))
  }

  @Test func `tells the address of the metrics`() async throws {
    let scratch = try Scratch()
    let process = try CommandProcess.start([
      "serve", "--port", "0", "--json", "--data", scratch("data"), "--metrics-listen",
      "127.0.0.1:0",
    ])
    let line = await LineReader(process.lines).next()
    let url = try #require(try [String: Any].reading(line)["metrics"] as? String)
    let asking = try LabProcess([
      "python3", "-c",
      "import urllib.request as r; print(b'holdfast_ready 1' in r.urlopen('\(url)').read())",
    ])
    #expect(await CommandProcess.outcome(of: asking).output == ["True"])
    process.signal(SIGTERM)
    #expect(await process.exit() == 0)
  }

  @Test(arguments: [(63, 1), (64, 0)])
  func `needs 64 descriptors to start, and warns if there are few`(
    limit: Int, status: Int
  ) async throws {
    let scratch = try Scratch()
    let process = try LabProcess([
      "python3", "-c",
      """
      import resource, subprocess
      server = subprocess.Popen(
        ["\(CommandProcess.path)", "serve", "--port", "0", "--data", "\(scratch("data"))"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (\(limit), \(limit))))
      print(len(server.stdout.readline()) > 0, server.stdout.readline().decode().strip()[:54])
      server.terminate()
      print(server.wait())
      text = server.stderr.read().decode()
      print("few_descriptors" in text, "is 63, and a backend needs at least 64; raise it" in text)
      """,
    ])
    let outcome = await CommandProcess.outcome(of: process)
    let warning = "warning the limit on open descriptors is 64, and the c"
    #expect(
      outcome.output
        == (status == 1 ? ["False ", "1", "False True"] : ["True \(warning)", "0", "True False"]))
  }

  @Test(arguments: [[], ["--max-sessions", "100"], ["--max-phones", "10000"]])
  func `lowers the maximums that nobody has given to the limit on descriptors`(
    options: [String]
  ) async throws {
    let scratch = try Scratch()
    let words = ["serve", "--port", "0", "--json", "--data", scratch("data")] + options
    let process = try LabProcess(
      [
        "python3", "-c",
        """
        import resource, subprocess, sys
        server = subprocess.Popen(
          ["\(CommandProcess.path)", *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))
        server.stdout.readline()
        server.terminate()
        text = server.communicate()[1].decode()
        print(server.returncode, "few_descriptors" in text)
        lines = [line for line in text.splitlines() if "ceilings_lowered" in line]
        print(lines[0].split("allows ")[1].split('"')[0] if lines else "none")
        """,
      ] + words)
    // 1,024 requests wait, a session is refused by a response, and 256 descriptors are for files.
    let expected =
      switch options.first {
      case nil: ["0 False", "1279 streams, 1279 phones and 255 sessions"]
      case "--max-sessions": ["0 False", "1357 streams, 1357 phones and 100 sessions"]
      default: ["0 True", "none"]
      }
    #expect(await CommandProcess.outcome(of: process).output == expected)
  }
}
