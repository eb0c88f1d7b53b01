import HoldfastCommandKit
import HoldfastCore
import HoldfastFirmware

/// An action on a virtual bottle.
enum BottleAction: Sendable, Equatable {
  case world(BottleInput)
  /// Removes the battery and reinserts it.
  case restart
  /// Restarts the bottle with an erased flash memory.
  case erase
  /// Moves the bottle out of range if the value is false, or back into range if it is true.
  case range(Bool)
  /// While the value is true, drops every acknowledgement as if it were lost in transit.
  case deaf(Bool)
  case quit

  /// The description of the actions for help texts. Scripts and standard input use the same
  /// actions.
  static let help = """
    Actions are move, tap, still, lift, pour ML, refill ML, shake, battery PERCENT, restart (its \
    battery is taken out and put back), erase (its records are lost, too), gone and back (out of \
    range), deaf and hear (acknowledgements are lost, or not), quit. ML is 1 to 1000, PERCENT 0 to \
    100.
    """

  /// Parses an action. Returns `nil` if it is not valid.
  init?(_ fields: [Substring]) {
    switch (
      fields.first.map(String.init), fields.dropFirst().first.flatMap { Int($0) }, fields.count
    )
    {
    case ("move", nil, 1): self = .world(.moved)
    case ("tap", nil, 1): self = .world(.tapped)
    case ("still", nil, 1): self = .world(.stands(true))
    case ("lift", nil, 1): self = .world(.stands(false))
    case ("shake", nil, 1): self = .world(.shaken)
    case ("restart", nil, 1): self = .restart
    case ("erase", nil, 1): self = .erase
    case ("gone", nil, 1): self = .range(false)
    case ("back", nil, 1): self = .range(true)
    case ("deaf", nil, 1): self = .deaf(true)
    case ("hear", nil, 1): self = .deaf(false)
    case ("quit", nil, 1): self = .quit
    case ("pour", let amount?, 2) where (1...1000).contains(amount):
      self = .world(.poured(Int16(amount)))
    case ("refill", let amount?, 2) where (1...1000).contains(amount):
      self = .world(.poured(Int16(-amount)))
    case ("battery", let percent?, 2) where (0...100).contains(percent):
      self = .world(.battery(UInt8(percent)))
    case _: return nil
    }
  }
}

/// A script file: a list of actions, each performed after a delay.
struct BottleScript: Sendable, Equatable {
  struct Line: Sendable, Equatable {
    var wait: Duration
    var action: BottleAction
  }

  /// The maximum number of lines in a file.
  static let longest = 100_000

  var lines: [Line] = []

  /// Parses a script.
  ///
  /// - Throws: A usage error that names the first invalid line.
  init(_ text: String, from path: String) throws(CommandFailure) {
    for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      var fields = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
      guard !fields.isEmpty else { continue }
      var wait = Duration.zero
      if fields.first == "after", fields.count > 2, let given = Duration(text: fields[1]) {
        wait = given
        fields.removeFirst(2)
      }
      guard let action = BottleAction(fields), lines.count < Self.longest else {
        throw CommandFailure(
          .usage, "\(path), line \(number + 1) is not valid",
          remedy: "write an action such as pour 250, or after 2s move. \(BottleAction.help)")
      }
      lines.append(Line(wait: wait, action: action))
    }
  }
}
