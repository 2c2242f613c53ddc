INSERT INTO audit (at, action, object, user_agent, details) VALUES
    ('2027-01-02', 'job.run', '', '', '{}'),
    ('3999-01-01', 'job.run', '', '', '{}');
