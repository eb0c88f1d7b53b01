import HoldfastWorldKernel

/// A deliberate defect of a cluster, which the promises of `ClusterWorld` must detect.
///
/// The services of one node run at the holder of a role, and other nodes pass requests on. So an
/// answer after a phone has moved is here one of a former holder. A pair that is used twice, and an
/// upload without its offset, have no counterpart: pairs are memory of the holder, and unfinished
/// uploads are files of a node.
package enum ClusterDefect: String, Sendable, CaseIterable {
  /// An event is reported before its commit.
  case hintBeforeCommit
  /// Only the newest event behind the head is read.
  case holeNotRead
  /// Heads are not compared with the log.
  case noHeadCheck
  /// The rules are not told that no reports arrive.
  case noInterrupted
  /// Pages are read from any server that accepts connections, without a commit of the lease.
  case stalePrimaryRead
  /// A transaction whose outcome is unknown counts as one that failed.
  case unknownBatchGivenUp
  /// A transaction whose outcome is unknown is repeated without a look at its number, with new IDs.
  case repeatedWithoutIDs
  /// Transactions of the role do not check who has it.
  case termNotChecked
  /// The lease is measured with the wall clock.
  case leaseByWallClock
  /// The role changes its holder without a new term.
  case claimWithoutNewTerm
  /// A node keeps the services of the role when its lease ends.
  case formerHolderAnswers
  /// The epoch stays after commits were lost.
  case epochKeptAfterLoss
  /// Posts keep the time of the node's clock.
  case stampedByNode
  /// A primary acknowledges what its standby does not have yet, and nobody knows.
  case acknowledgedBeforeStandby
  /// A lease that has ended is not taken again.
  case leaseNotTakenAgain

  /// The promises of which at least one must be broken.
  package var findings: Set<ClusterFinding> {
    switch self {
    case .hintBeforeCommit, .noInterrupted: [.late]
    case .holeNotRead: [.hole]
    case .noHeadCheck: [.behind]
    case .stalePrimaryRead: [.staleRead]
    case .unknownBatchGivenUp: [.refusedStored]
    case .repeatedWithoutIDs: [.storedTwice]
    case .termNotChecked: [.formerHolder]
    case .leaseByWallClock: [.readWithoutLease, .acceptedWithoutLease]
    case .claimWithoutNewTerm: [.sharedTerm]
    case .formerHolderAnswers: [.twoHolders]
    case .epochKeptAfterLoss: [.keptEpoch]
    case .stampedByNode: [.stamps]
    case .acknowledgedBeforeStandby: [.lost, .endedEpoch, .otherEvent]
    case .leaseNotTakenAgain: [.noLease, .noListener, .noOutcome]
    }
  }
}

/// A promise of a cluster that was broken.
package enum ClusterFinding: String, Sendable, CaseIterable {
  case lost = "an acknowledged post is lost"
  case storedTwice = "a post is in the log twice"
  case refusedStored = "a refused post is in the log"
  case noOutcome = "a post has no outcome"
  case stamps = "stamps do not grow"
  case hole = "a listener has a hole, or events out of order"
  case otherEvent = "a listener has another event than the log"
  case behind = "a listener lacks the end of the log"
  case late = "an event arrives late"
  case noListener = "a listener cannot connect"
  case staleRead = "a page of a former primary was served"
  case readWithoutLease = "a page is read without a lease"
  case acceptedWithoutLease = "a socket is accepted without a lease"
  case noLease = "a node has no lease at the end"
  case twoHolders = "two nodes have the role"
  case formerHolder = "a former holder of the role has committed"
  case sharedTerm = "a term of the role has two holders"
  case endedEpoch = "an epoch has ended though nothing was lost"
  case keptEpoch = "an epoch goes on though commits were lost"
}
