-- Which nodes have what a rule raised: the causes of other nodes' symptoms, the open ones and those that ended of late.
CREATE INDEX incidents_of_rule ON incidents (rule, cleared_us);
