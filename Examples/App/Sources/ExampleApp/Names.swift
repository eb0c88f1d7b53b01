import CSQLite
import Holdfast
import Session

// Types of a neighbour with common names. `import Holdfast` neither replaces them nor makes them
// ambiguous, so that this file compiles.
var neighbours: [Any] {
  [
    Session(), Message(), Cursor(), Position(), Gap(), Delivery(), Store(), Central(), Wake(),
    Secret(), Instant(), Schedule(), Lifecycle(), Reachability(), Drink(), Platform(), Outbox(),
    Machine(), Token(), CSQLite.self,
  ]
}
