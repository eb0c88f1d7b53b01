import HoldfastCore
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastPush

@Suite(.timeLimit(.minutes(60))) struct `A hook` {
  /// Writes a shell script with these lines in a separate directory, and returns its path.
  private func program(_ lines: String, _ scratch: Scratch) async throws -> String {
    // The file is written by another process. A file cannot be run (ETXTBSY) while it is open for
    // writing in this process, or in a child that another test is just starting.
    try await Shell.run(
      ["sh", "-c", "umask 077; cat > \"$0\" && chmod 700 \"$0\"", scratch("hook")],
      input: "#!/bin/sh\n\(lines)\n")
    return scratch("hook")
  }

  /// Creates a sender whose hook may take long on a busy machine.
  private func patientHook(_ path: String) -> HookSender {
    HookSender(program: path, timeLimit: .seconds(3_600))
  }

  @Test(arguments: [
    (0, PushOutcome.delivered), (67, .gone), (68, .gone),
    (75, .tooMany(retryAfter: HookSender.patience)),
    (1, .failed(cause: "the hook exited with 1")),
    (255, .failed(cause: "the hook exited with 255")),
  ])
  func `the exit code determines the outcome of the push`(code: Int, outcome: PushOutcome)
    async throws
  {
    let scratch = try Scratch()
    let hook = patientHook(try await program("exit \(code)", scratch))
    #expect(await hook.send(.hook()) == outcome)
  }

  @Test func `receives one line, no arguments, and a reduced environment`() async throws {
    let scratch = try Scratch()
    let path = try await program(
      """
      cd '\(scratch.path)'
      cat > line
      echo "$#" > words
      env | cut -d= -f1 | sort | grep -Ev '^(_|PWD|SHLVL|OLDPWD)$' > names
      ls /proc/self/fd | wc -l > open
      """, scratch)
    #expect(
      await patientHook(path).send(.hook(#"a "word" ä"#))
        == .delivered)
    #expect(
      try scratch.text(of: "line") == #"""
        {"event":"wake","address":"a \"word\" ä","expires_at":"2023-11-14T22:14:05Z",\#
        "collapse_id":"phone-1"}

        """#)
    #expect(try scratch.text(of: "words") == "0\n")
    let names = try scratch.text(of: "names").split(separator: "\n")
    #expect(Set(names).isSubset(of: ["HOME", "LANG", "PATH", "TZ"]))
    // The descriptors are the three standard streams and the listed directory.
    #expect(try scratch.text(of: "open") == "4\n")
  }

  @Test func `a hook that does not read its line causes no error`() async throws {
    let scratch = try Scratch()
    let path = try await program("exec <&-; exit 0", scratch)
    let address = String(repeating: "x", count: PushAddress.maxHookBytes)
    #expect(
      await patientHook(path).send(.hook(address)) == .delivered
    )
  }

  @Test func `a hook is killed with its children after its time limit`() async throws {
    let scratch = try Scratch()
    try await Shell.run(["mkfifo", scratch("ready"), scratch("never")])
    // The script and its child wait for a writer that never comes. The child keeps open the pipe
    // that reports their end.
    let path = try await program(
      "cd '\(scratch.path)'; (echo up > ready; read x < never) & read x < never", scratch)
    let clock = TestClock()
    let hook = HookSender(program: path, timeLimit: .seconds(10), clock: clock)
    async let outcome = hook.send(.hook())
    try await Shell.run(["cat", scratch("ready")])
    await clock.someoneWaits(for: .second(10))
    clock.advance(by: .seconds(10))
    #expect(await outcome == .failed(cause: "the hook took longer than 10s"))
    let pattern = "^/bin/sh \(path)"
    // Killed processes only disappear once the system has scheduled them again.
    while (try? await Shell.run(["pgrep", "-f", pattern])) != nil {}
  }

  @Test func `a hook that cannot be started is reported without its address`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write([], to: "plain")
    for (path, reason) in [
      (scratch("none"), "No such file or directory"), (scratch("plain"), "Permission denied"),
    ] {
      #expect(
        await patientHook(path).send(.hook())
          == .failed(cause: "the hook could not be started: \(reason)"))
    }
    #expect(
      await patientHook(scratch("none")).send(.apns())
        == .failed(cause: "the address does not belong to the hook"))
  }

  @Test func `a hook that a signal ends is reported`() async throws {
    let scratch = try Scratch()
    let hook = patientHook(try await program("kill -TERM $$", scratch))
    #expect(await hook.send(.hook()) == .failed(cause: "the hook was ended by signal 15"))
  }

  @Test func `hooks beyond the limit are refused for a second`() async throws {
    let scratch = try Scratch()
    try await Shell.run(["mkfifo", scratch("ready"), scratch("go")])
    let path = try await program(
      "cd '\(scratch.path)'; echo up > ready; read x < go; exit 0", scratch)
    let hook = HookSender(program: path, timeLimit: .seconds(3_600))
    await withTaskGroup(of: PushOutcome.self) { group in
      for _ in 0..<HookSender.limit { group.addTask { await hook.send(.hook()) } }
      // Each hook reports that it is running.
      _ = try? await Shell.run([
        "sh", "-c",
        "cd '\(scratch.path)'; exec 3<>ready; for i in 1 2 3 4 5 6 7 8; do read x <&3; done",
      ])
      #expect(await hook.send(.hook()) == .tooMany(retryAfter: .seconds(1)))
      _ = try? await Shell.run([
        "sh", "-c",
        "cd '\(scratch.path)'; exec 3<>go; for i in 1 2 3 4 5 6 7 8; do echo go >&3; done; "
          + "timeout 600 sh -c 'while pgrep -f \"^/bin/sh \(path)\" >/dev/null; do :; done'",
      ])
      for await outcome in group { #expect(outcome == .delivered) }
    }
    #expect(
      await patientHook(path).send(.apns())
        != .tooMany(retryAfter: .seconds(1)))
  }
}
