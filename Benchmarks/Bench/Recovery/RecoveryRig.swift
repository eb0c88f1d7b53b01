import Foundation
import HoldfastTestKit

/// One run of `Benchmarks/recovery/recovery.py`, in which all clients experience the same fault.
struct RecoveryRig: Sendable {
  let trouble: Recovery.Trouble
  let isTLS: Bool

  enum Client: String {
    case holdfast, websockets, socketio

    var title: String {
      switch self {
      case .holdfast: "holdfast"
      case .websockets: "Python websockets, its reconnecting iterator"
      case .socketio: "python-socketio, client and server"
      }
    }
  }

  /// Returns the name of a figure that is measured from the restored path, or from the attempt's
  /// first packet if `tried` is true.
  static func figure(_ trouble: Recovery.Trouble, _ client: Client, tried: Bool) -> String {
    "\(trouble.rawValue) \(client.rawValue) \(tried ? "tried" : "whole")"
  }

  /// The result of one client, in the form that the rig prints.
  private struct Result: Decodable {
    var client: String
    var obstacle: String?
    var whole: Double?
    var tried: Double?
    var lost: Double?
    var twice: Double?
  }

  func play() async throws -> Rounds.Figures {
    if let obstacle = NetworkLab.obstacle { throw Unavailable(obstacle) }
    let arguments = [
      try Peer.pinnedPython(), "Benchmarks/recovery/recovery.py", Peer.program, trouble.rawValue,
    ]
    let rig = try Peer(arguments).start(isTLS ? ["--tls"] : [])
    var figures: Rounds.Figures = [:]
    var obstacle: String?
    for await line in rig.lines {
      let result = try JSONDecoder().decode(Result.self, from: Data(line.utf8))
      guard let client = Client(rawValue: result.client), let whole = result.whole else {
        obstacle = result.obstacle.map { "\(result.client) \($0)" }
        continue
      }
      let beside = [("lost", result.lost), ("twice", result.twice)].compactMap { pair in
        pair.1.map { (name: pair.0, value: $0) }
      }
      figures[Self.figure(trouble, client, tried: false)] = Measurement(whole, beside: beside)
      figures[Self.figure(trouble, client, tried: true)] = result.tried.map { Measurement($0) }
    }
    if figures.isEmpty {
      let lastLine = await rig.diagnostics.reduce("the rig ended without a word") { $1 }
      throw Unavailable(obstacle ?? lastLine)
    }
    return figures
  }
}
