import CommandKit
import LinkCore

/// `holdfast policy show`: every number of a policy, and what follows from it.
enum PolicyShowCommand {
  static var command: Command {
    Command(
      "show", "show every number of a policy, its schedule and its verdicts",
      examples: [
        .init("holdfast policy show session", "three tables"),
        .init(
          "holdfast policy show message-stream --set retry.first=1s,2s --set gate.settle=500ms",
          "the same policy with other numbers"),
        .init(
          "holdfast policy show session --json | jq -r '.schedule.reconnect[].waitMax'",
          "the longest wait before each try"),
      ],
      takes: Shared.preset, Shared.settings, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let policy = try call[Shared.preset].with(call[Shared.settings])
    guard !call[Shared.json] else {
      return call.console.object {
        PolicyText.values(of: policy, to: &$0)
        PolicyText.schedules(of: policy, to: &$0)
      }
    }
    let style = call.console.style
    var lines = [style.heading(policy.name), ""]
    lines += PolicyText.numbers(of: policy).lines(style)
    lines += ["", "First connection; its very first try comes at once and is not counted:"]
    lines += PolicyText.lines(of: policy.retry.first, style)
    lines += ["", "After the loss of an established link:"]
    lines += PolicyText.lines(of: policy.retry.reconnect, style)
    lines += ["", "What follows a failure:"]
    lines += PolicyText.verdicts(of: policy).lines(style)
    for line in lines { call.console.line(line) }
  }
}
