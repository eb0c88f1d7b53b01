import HoldfastCommandKit
import HoldfastCore

/// The command `holdfast policy show`: prints every value of a policy and the resulting schedules.
enum PolicyShowCommand {
  private static let preset = Parameter.operand(
    Format.preset, "the policy; `policy list` lists the names")

  static var command: Command {
    Command(
      "show", "show every value of a policy, its schedules and its verdicts",
      examples: [
        .init("holdfast policy show session", "three tables"),
        .init(
          "holdfast policy show message-stream --set retry.first=1s,2s --set gate.debounce=500ms",
          "the same policy with other values"),
        .init(
          "holdfast policy show session --json | jq -r '.schedule.reconnect[].waitMax'",
          "the longest wait before each attempt"),
      ],
      takes: preset, Shared.settings, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let policy = try call[preset].with(call[Shared.settings])
    guard !call[Shared.json] else {
      return call.console.object {
        PolicyText.values(of: policy, to: &$0)
        PolicyText.schedules(of: policy, to: &$0)
      }
    }
    let style = call.console.style
    var lines = [style.heading(policy.name), ""]
    lines += PolicyText.numbers(of: policy).lines(style)
    lines += ["", "First connection (the first attempt is immediate and not counted):"]
    lines += PolicyText.lines(of: policy.retry.first, style)
    lines += ["", "After the loss of an established connection:"]
    lines += PolicyText.lines(of: policy.retry.reconnect, style)
    if policy.holdsLink {
      lines += ["", "Reactions to failures:"]
      lines += PolicyText.actions(of: policy).lines(style)
    }
    for line in lines { call.console.line(line) }
  }
}
