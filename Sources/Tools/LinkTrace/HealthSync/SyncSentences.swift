import HoldfastCore
import HoldfastHealthSync
public import HoldfastLinkChecks
public import HoldfastSyncChecks

extension SyncFeature {
  public static func sentence(of effect: Effect) -> String? {
    switch effect {
    case .observe(let types): "The app observes \(Sentence.count(types.count, "type"))."
    case .fetch(let fetch, let type, _, _, _):
      "The app reads \(name(type)), as read \(fetch.number)."
    case .commit(let commit, _): "The app stores the queue, as change \(commit.number)."
    case .delete(let files):
      "The app deletes \(Sentence.count(files.count, "file")) no longer needed."
    case .update(.batch(let report)):
      "Batch \(report.file) is \(report.state.rawValue)"
        + (report.reason.map { ": \($0)." } ?? ".")
    case .update(.type(let report)): "The counts of \(name(report.type)) changed."
    case .update(.notice(let notice)): "The app reports: \(notice)."
    case .upload, .split, .identify, .requestSecret, .refresh, .giveBack: nil
    }
  }

  /// Returns a type without HealthKit's prefix, such as `StepCount`.
  private static func name(_ type: String) -> String {
    type.firstRange(of: "Identifier").map { String(type[$0.upperBound...]) } ?? type
  }
}
