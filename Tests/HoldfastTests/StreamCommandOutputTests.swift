import Foundation
import HoldfastTestKit
import Testing

/// What `stream` shows, and what it does when nobody takes it.
@Suite(.timeLimit(.minutes(1))) struct StreamCommandOutputTests {
  @Test(arguments: [false, true])
  func `ends soon although nobody takes the output`(isAll: Bool) async throws {
    try await CommandShop.run { shop in
      let words = shop.words("stream", ["--data", shop.directory, "--json"])
      let player = try LabProcess(
        ["python3", "-c", Self.blocked, isAll ? "all" : "output", CommandProcess.path] + words,
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      _ = try await shop.logged("opened")
      player.send("end it")
      let outcome = await CommandProcess.outcome(of: player)
      let said = "holdfast stream: nobody takes the output; ended without writing the rest of it"
      #expect(outcome.output == (isAll ? ["1"] : ["1", said]))
      #expect(outcome.errors == [])
    }
  }

  /// Runs a command whose output goes to a pipe that is full, and ends it when told to.
  private static let blocked = """
    import fcntl, os, subprocess, sys
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 4096): pass
    except BlockingIOError: pass
    os.set_blocking(writer, True)
    errors = writer if sys.argv[1] == "all" else subprocess.PIPE
    run = subprocess.Popen(sys.argv[2:], stdout=writer, stderr=errors, text=True)
    sys.stdin.readline()
    run.terminate()
    said = run.communicate()[1]
    print(run.returncode)
    if said: print(said, end="")
    """
}
