-- For what the last order to a node approves a reboot or a reload: a digest; '' = it is another order.
ALTER TABLE node_attempts ADD COLUMN approved TEXT NOT NULL DEFAULT '';
